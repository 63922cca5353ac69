// A form that creates a passkey (data-passkey="create") or signs with one ("get"), by the options in #passkey-options.

const form = document.querySelector("[data-passkey]");
const options = JSON.parse(document.querySelector("#passkey-options")?.textContent ?? "null");
const can = window.PublicKeyCredential?.parseRequestOptionsFromJSON && isNamed(location.hostname);

/** Passkeys belong to a name; an address of numbers has none. */
function isNamed(host) {
  return !/^[\d.]+$|^\[/.test(host);
}

async function ask() {
  if (form.dataset.passkey === "create") {
    return navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey),
    });
  }
  return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey) });
}

async function sign(event) {
  event.preventDefault();
  form.querySelector("[data-failed]").hidden = true;
  try {
    form.elements.credential.value = JSON.stringify((await ask()).toJSON());
  } catch {
    form.querySelector("[data-failed]").hidden = false;
    return;
  }
  form.submit();
}

if (form && !can) {
  form.querySelector("[data-cannot]").hidden = false;
  form.querySelector("button").disabled = true;
} else if (form) form.addEventListener("submit", sign);
