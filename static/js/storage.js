// What the browser keeps for a page. Where it may keep nothing, or has no room left, pages work without.

/** Merely to name a storage can be refused, and some browsers have none. */
function openStorage(name) {
  const attempt = (act) => {
    try {
      return act(window[name]);
    } catch {
      return null;
    }
  };
  return {
    read: (key) => attempt((storage) => storage.getItem(key)),
    /** An empty text takes away what was kept. */
    write: (key, text) => attempt((storage) => (text ? storage.setItem(key, text) : storage.removeItem(key))),
    keys: () => attempt((storage) => Object.keys(storage)) ?? [],
  };
}

export const ofDevice = openStorage("localStorage");
export const ofTab = openStorage("sessionStorage");
