"""How a law is drawn: kernels that know no price. Exact on a public grid where a value leaves the house."""
