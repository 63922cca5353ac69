"""Colours for the edges of a bipartite graph: two edges that share an end never have the same. Pure."""

from collections.abc import Hashable, Iterable, Sequence

Vertex = tuple[int, Hashable]  # side, end


def even_colouring(edges: Sequence[tuple[Hashable, Hashable]], colours: int) -> list[int]:
    """Return a colour from 0 on for each edge, each colour used equally often, give or take one.

    There always is one where no end has more edges than there are colours. Built edge by edge by turning over chains
    of two colours: D. König (1916), Mathematische Annalen 77, 453-465; made even in the same way: D. de Werra (1971),
    INFOR 9, 68-75.
    """
    colouring = _Colouring(edges, colours)
    for edge in range(len(edges)):
        colouring.add(edge)
    colouring.even_out()
    return [colouring.colour_of[edge] for edge in range(len(edges))]


class _Colouring:
    def __init__(self, edges: Sequence[tuple[Hashable, Hashable]], colours: int) -> None:
        self.ends: list[tuple[Vertex, Vertex]] = [((0, left), (1, right)) for left, right in edges]
        self.colours = range(colours)
        self.colour_of: dict[int, int] = {}
        self.at: dict[Vertex, dict[int, int]] = {vertex: {} for ends in self.ends for vertex in ends}

    def add(self, edge: int) -> None:
        left, right = self.ends[edge]
        ours, theirs = self.free(left), self.free(right)
        self.turn(self.chain(right, ours, theirs), ours, theirs)  # it never comes back to the left end
        self.put(edge, ours)

    def free(self, vertex: Vertex) -> int:
        return next(colour for colour in self.colours if colour not in self.at[vertex])

    def put(self, edge: int, colour: int) -> None:
        self.colour_of[edge] = colour
        for vertex in self.ends[edge]:
            self.at[vertex][colour] = edge

    def chain(self, start: Vertex, first: int, second: int) -> list[int]:
        """Return the edges from `start` on that have these two colours in turn."""
        edges: list[int] = []
        vertex, colour = start, first
        while (edge := self.at[vertex].get(colour)) is not None:
            edges.append(edge)
            vertex = next(end for end in self.ends[edge] if end != vertex)
            colour = second if colour == first else first
        return edges

    def turn(self, chain: Iterable[int], one: int, other: int) -> None:
        """Give each edge of a whole chain the other of its two colours."""
        turned = {edge: other if self.colour_of[edge] == one else one for edge in chain}
        for edge in turned:
            for vertex in self.ends[edge]:
                del self.at[vertex][self.colour_of[edge]]
            del self.colour_of[edge]
        for edge, colour in turned.items():
            self.put(edge, colour)

    def even_out(self) -> None:
        while True:
            used = list(self.colour_of.values())
            most, least = max(self.colours, key=used.count), min(self.colours, key=used.count)
            if used.count(most) - used.count(least) < 2:
                return
            self.turn(self.surplus(most, least), most, least)

    def surplus(self, most: int, least: int) -> list[int]:
        """Return a chain with one edge more of `most`; there is one where `most` is used more often."""
        starts = (vertex for vertex, edges in self.at.items() if most in edges and least not in edges)
        chains = (self.chain(start, most, least) for start in starts)
        return next(chain for chain in chains if len(chain) % 2)
