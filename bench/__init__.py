"""How fast, how lean and how safe from loss: emostudy beside its peers (bench/README.md)."""
