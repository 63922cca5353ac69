"""The exhibits for those who write: each as PDF, SVG, CSV and LaTeX, and a Quarto document that has them all."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import unescape

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.reporting.drawing import ONE, Figure
from studies.analysis.reporting.excerpts import heads_of, without_repetition
from studies.analysis.reporting.markup import Markup
from studies.analysis.reporting.numbers import in_column
from studies.analysis.reporting.parts import Excerpt, Exhibit, Section, join_sentences
from studies.analysis.results import Results, to_csv

FOLDER = "paper"
DOCUMENT = "results.qmd"
CHARACTERS = 42  # of a table's row fit into one column of a journal's page
MANY_COLUMNS = 8  # fit into both
PACKAGES = """% The preamble needs \\usepackage{graphicx,booktabs,tabularx}.
% With Chinese text it needs xeCJK too, and is compiled by XeLaTeX.
"""
LATEX_MARKS = {"strong": ("\\textbf{", "}"), "u": ("\\underline{", "}")}  # of the highest mean and the second
MARKDOWN_MARKS = {"strong": ("**", "**"), "u": ("[", "]{.underline}")}
_MARKED = re.compile(r"<(strong|u)>(.*)</\1>")
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "−": "$-$", "×": r"$\times$", "α": r"$\alpha$", "–": "--"},
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$@^])")
_NUMBER = re.compile(r"[−+]?[\d,.]+( %| \[.*\])?|–|<\.001|")
HEADER = """---
title: "{title}"
format:
  html:
    default-image-extension: svg
  pdf:
    pdf-engine: xelatex
    default-image-extension: pdf
  docx:
    default-image-extension: svg
---
"""


def paper_of(sections: Iterable[Section], results: Results, title: str) -> dict[str, bytes]:
    """Return the files of `paper/` by path; none where a study has no exhibit."""
    exhibits = [section.exhibit for section in sections if section.exhibit]
    files: dict[str, bytes] = {}
    for part, numbers in ((part, numbers) for exhibit in exhibits for part, numbers in _with_numbers(exhibit)):
        name = f"{FOLDER}/{file_name(part)}"
        files[f"{name}.csv"] = to_csv(numbers)
        text = _latex_figure(part) if isinstance(part, Figure) else _latex_table(part)
        files[f"{name}.tex"] = f"{PACKAGES}\n{text}".encode()
        if isinstance(part, Figure):
            files[f"{name}.svg"] = part.svg.encode()
            files[f"{name}.pdf"] = part.pdf()
    if exhibits:
        files[f"{FOLDER}/{DOCUMENT}"] = "\n".join(_document(exhibits, results, title)).encode()
    return files


def file_name(part: Figure | Excerpt) -> str:
    """Return the name of the files of a numbered part: figure-1, table-1."""
    kind, _space, number = part.label.rpartition(" ")
    return f"{'figure' if isinstance(part, Figure) else 'table'}-{number}" if kind else part.name


def _with_numbers(exhibit: Exhibit) -> Iterator[tuple[Figure | Excerpt, pd.DataFrame]]:
    """Yield each part with the rows behind it; those of a table below a figure are its own, without marks."""
    yield exhibit.part, exhibit.numbers
    for part in exhibit.beside:
        yield part, part.frame.map(lambda cell: _without_mark(cell) if isinstance(cell, str) else cell)


def _latex_figure(figure: Figure) -> str:
    """Return a figure in its own size, or smaller where the column or the page is."""
    name = file_name(figure)
    wide = "*" if figure.columns() > 1 else ""
    width = r"\linewidth" if wide else rf"\ifdim\linewidth>{ONE}in {ONE}in\else\linewidth\fi"
    return "\n".join(
        [
            f"\\begin{{figure{wide}}}",
            "\\centering",
            f"\\includegraphics[width={width},height=0.8\\textheight,keepaspectratio]{{{name}.pdf}}",
            f"\\caption{{{escape_latex(_caption(figure))}}}",
            f"\\label{{fig:{name}}}",
            f"\\end{{figure{wide}}}",
            "",
        ]
    )


def _latex_table(excerpt: Excerpt) -> str:
    """Return a table for the packages booktabs and tabularx, whose heads over numbers run over several lines."""
    heads, rows, remark = _texts(excerpt)
    numbers = [all(_NUMBER.fullmatch(_without_mark(row[place])) for row in rows) for place in range(len(heads))]
    kind, width = ("tabularx", "{\\linewidth}") if any(numbers) else ("tabular", "")
    aligned = "".join(r">{\raggedleft\arraybackslash}X" if number else "l" for number in numbers)
    columns = [(max(head.split(), key=len, default=""), *cells) for head, *cells in zip(heads, *rows, strict=True)]
    wide = "*" if sum(max(len(_without_mark(cell)) for cell in column) + 2 for column in columns) > CHARACTERS else ""
    small = ["\\footnotesize\\setlength{\\tabcolsep}{3pt}"] if len(heads) > MANY_COLUMNS else []
    return "\n".join(
        [
            f"\\begin{{table{wide}}}",
            "\\centering",
            f"\\caption{{{escape_latex(_join_titles(excerpt.caption, remark))}}}",
            f"\\label{{tab:{file_name(excerpt)}}}",
            *small,
            f"\\begin{{{kind}}}{width}{{{aligned}}}",
            "\\toprule",
            _latex_heads(heads, numbers),
            "\\midrule",
            *map(_latex_row, rows),
            "\\bottomrule",
            f"\\end{{{kind}}}",
            f"\\end{{table{wide}}}",
            "",
        ]
    )


def _latex_heads(heads: Sequence[str], numbers: Sequence[bool]) -> str:
    """Return the row of heads; where columns are many, those over numbers stand upright."""
    if len(heads) <= MANY_COLUMNS:
        return _latex_row(heads)
    texts = zip(map(escape_latex, heads), numbers, strict=True)
    turned = [rf"\rotatebox{{90}}{{{text}}}" if number else text for text, number in texts]
    return f"{' & '.join(turned)} \\\\"


def _latex_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(map(escape_latex, cells))} \\\\"


def escape_latex(text: str) -> str:
    before, bare, after = _split_mark(text, LATEX_MARKS)
    return before + "".join(_LATEX.get(sign, sign) for sign in bare) + after


def _split_mark(text: str, marks: Mapping[str, tuple[str, str]]) -> tuple[str, str, str]:
    """Return a cell without its mark, between what marks it elsewhere."""
    match = _MARKED.fullmatch(text) if isinstance(text, Markup) else None
    before, after = marks[match[1]] if match else ("", "")
    return before, unescape(match[2]) if match else text, after


def _without_mark(text: str) -> str:
    return _split_mark(text, LATEX_MARKS)[1]


def _document(exhibits: Sequence[Exhibit], results: Results, title: str) -> Iterator[str]:
    yield HEADER.format(title=title.replace("\\", "\\\\").replace('"', '\\"'))
    yield f"# {_('Results')}\n"
    for exhibit in exhibits:
        yield f"## {escape_markdown(exhibit.heading)}\n"
        names = _references(exhibit)
        cited = ", ".join(f"@{name}" for name in names)
        said = escape_markdown(join_sentences(exhibit.sentences))
        yield f"{said} ({cited})\n" if said else f"{_('See {exhibits}.').format(exhibits=cited)}\n"
        for part, name in zip((exhibit.part, *exhibit.beside), names, strict=True):
            if isinstance(part, Figure):
                yield f"![{escape_markdown(_caption(part))}]({file_name(part)}){{#{name}}}\n"
            else:
                yield from _markdown_table(part, name)
    limits = results.limits()
    if limits:
        yield f"# {_('Keep in mind')}\n"
        yield from (f"- {escape_markdown(limit)}" for limit in limits)
        yield ""


def _references(exhibit: Exhibit) -> list[str]:
    """Return the names by which Quarto's text refers to an exhibit's figure or table and to what stands below it."""
    first = f"{'fig' if isinstance(exhibit.part, Figure) else 'tbl'}-{exhibit.key}"
    return [first, *(f"tbl-{exhibit.key}-below-{number}" for number, _part in enumerate(exhibit.beside, 1))]


def _markdown_table(excerpt: Excerpt, name: str) -> Iterator[str]:
    heads, rows, remark = _texts(excerpt)
    yield f"| {' | '.join(map(escape_markdown, heads))} |"
    yield f"|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(map(escape_markdown, row))} |" for row in rows)
    yield f"\n: {escape_markdown(_join_titles(excerpt.caption, remark))} {{#{name}}}\n"


def escape_markdown(text: str) -> str:
    before, bare, after = _split_mark(text, MARKDOWN_MARKS)
    return before + _MARKDOWN.sub(r"\\\1", bare.replace("\n", " ")) + after


def _caption(figure: Figure) -> str:
    return _join_titles(figure.title, figure.caption)


def _join_titles(title: str, more: str) -> str:
    return join_sentences([f"{title.rstrip('.')}.", more])


def _texts(excerpt: Excerpt) -> tuple[list[str], list[list[str]], str]:
    """Return heads, cells and remark of a table as texts. Columns that repeat one value are in the remark. A table that
    is too wide for a page is turned: its columns become rows."""
    frame, repeated = without_repetition(excerpt.frame)
    heads = heads_of(frame)
    rows = [list(map(_text, frame.columns, row)) for row in frame.itertuples(index=False)]
    if len(heads) > max(MANY_COLUMNS, len(rows) + 1):
        (_first, *heads), *rows = map(list, zip(heads, *rows, strict=True))
        heads = ["", *heads]
    return heads, rows, join_sentences([excerpt.remark, repeated])


def _text(column: str, value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else in_column(column, value)
    if isinstance(value, str):
        return value
    return "" if value is None or value is pd.NA else str(value)
