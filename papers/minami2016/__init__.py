"""K. Minami, H. Arai, I. Sato, H. Nakagawa: Differential privacy without sensitivity, NIPS 2016 (supplement, workshop text)."""
