"""C. Dimitrakakis, B. Nelson, Z. Zhang, A. Mitrokotsa, B. Rubinstein: Differential privacy for Bayesian inference through
posterior sampling, Journal of Machine Learning Research 18, 2017.
"""
