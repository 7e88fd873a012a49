"""The papers that featlab's statements come from, under short keys."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Citation:
    key: str
    authors: str
    year: int
    title: str
    arxiv: str | None = None

    @property
    def short(self) -> str:
        """Authors and year, as one would write it in a sentence."""
        return f"{self.authors} {self.year}"

    @property
    def link(self) -> str | None:
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else None

    @property
    def bibtex(self) -> str:
        """An entry for a bibliography, under the key that featlab uses. Authors are known by their last names.

        In braces stand last names of two words, and capitals that a style would make small (SGD, Gaussian).
        """
        names = (f"{{{name}}}" if " " in name else name for name in self.authors.split(", "))
        title = re.sub(r"(?<=.)\b[A-Z]\w*|\b\w+[A-Z]\w*", r"{\g<0>}", self.title)
        fields = {"author": " and ".join(names), "title": title, "year": str(self.year)}
        if self.arxiv:
            fields |= {"eprint": self.arxiv, "archivePrefix": "arXiv", "url": self.link or ""}
        body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return f"@misc{{{self.key},\n{body}\n}}"


_PAPERS = (
    Citation(
        "benarous2021",
        "Ben Arous, Gheissari, Jagannath",
        2021,
        "Online stochastic gradient descent on non-convex losses from high-dimensional inference",
        "2003.10409",
    ),
    Citation("abbe2022", "Abbe, Boix-Adsera, Misiakiewicz", 2022, "The merged-staircase property", "2202.08658"),
    Citation(
        "abbe2023",
        "Abbe, Boix-Adsera, Misiakiewicz",
        2023,
        "SGD learning on neural networks: leap complexity and saddle-to-saddle dynamics",
        "2302.11055",
    ),
    Citation(
        "damian2022",
        "Damian, Lee, Soltanolkotabi",
        2022,
        "Neural networks can learn representations with gradient descent",
        "2206.15144",
    ),
    Citation(
        "damian2024",
        "Damian, Pillaud-Vivien, Lee, Bruna",
        2024,
        "Computational-statistical gaps in Gaussian single-index models",
        "2403.05529",
    ),
    Citation(
        "damian2025",
        "Damian, Lee, Bruna",
        2025,
        "The generative leap: sharp sample complexity for efficiently learning Gaussian multi-index models",
        "2506.05500",
    ),
    Citation(
        "dandi2023",
        "Dandi, Krzakala, Loureiro, Pesce, Stephan",
        2023,
        "How two-layer neural networks learn, one (giant) step at a time",
        "2305.18270",
    ),
    Citation(
        "dandi2024",
        "Dandi, Troiani, Arnaboldi, Pesce, Zdeborova, Krzakala",
        2024,
        "The benefits of reusing batches for gradient descent in two-layer networks",
        "2402.03220",
    ),
    Citation(
        "cui2024",
        "Cui, Pesce, Dandi, Krzakala, Lu, Zdeborova, Loureiro",
        2024,
        "Asymptotics of feature learning in two-layer networks after one gradient-step",
        "2402.04980",
    ),
    Citation(
        "dandi2024spectrum",
        "Dandi, Pesce, Cui, Krzakala, Lu, Loureiro",
        2024,
        "A random matrix theory perspective on the spectrum of learned features and asymptotic generalization "
        "capabilities",
        "2410.18938",
    ),
    Citation(
        "lee2024",
        "Lee, Oko, Suzuki, Wu",
        2024,
        "Neural network learns low-dimensional polynomials with SGD near the information-theoretic limit",
        "2406.01581",
    ),
    Citation(
        "arnaboldi2024",
        "Arnaboldi, Dandi, Krzakala, Pesce, Stephan",
        2024,
        "Repetita iuvant: data repetition allows SGD to learn high-dimensional multi-index functions",
        "2405.15459",
    ),
    Citation(
        "troiani2024",
        "Troiani, Dandi, Defilippis, Zdeborova, Loureiro, Krzakala",
        2024,
        "Fundamental computational limits of weak learnability in high-dimensional multi-index models",
        "2405.15480",
    ),
    Citation(
        "defilippis2024",
        "Defilippis, Loureiro, Misiakiewicz",
        2024,
        "Dimension-free deterministic equivalents and scaling laws for random feature regression",
        "2405.15699",
    ),
    Citation(
        "defilippis2025",
        "Defilippis, Dandi, Mergny, Krzakala, Loureiro",
        2025,
        "Optimal spectral transitions in high-dimensional multi-index models",
        "2502.02545",
    ),
    Citation(
        "mei2022",
        "Mei, Misiakiewicz, Montanari",
        2022,
        "Generalization error of random feature and kernel methods: hypercontractivity and kernel matrix concentration",
        "2101.10588",
    ),
    Citation(
        "ba2022",
        "Ba, Erdogdu, Suzuki, Wang, Wu, Yang",
        2022,
        "High-dimensional asymptotics of feature learning: how one gradient step improves the representation",
        "2205.01445",
    ),
    Citation(
        "ba2023",
        "Ba, Erdogdu, Suzuki, Wang, Wu",
        2023,
        "Learning in the presence of low-dimensional structure: a spiked random matrix perspective",
    ),
    Citation(
        "donhauser2021",
        "Donhauser, Wu, Yang",
        2021,
        "How rotational invariance of common kernels prevents generalization in high dimensions",
        "2104.04244",
    ),
    Citation(
        "bietti2022",
        "Bietti, Bruna, Sanford, Song",
        2022,
        "Learning single-index models with shallow neural networks",
        "2210.15651",
    ),
    Citation(
        "dandi2025",
        "Dandi, Pesce, Zdeborova, Krzakala",
        2025,
        "The computational advantage of depth: learning high-dimensional hierarchical functions with gradient descent",
        "2502.13961",
    ),
    Citation(
        "mousavi2023",
        "Mousavi-Hosseini, Wu, Suzuki, Erdogdu",
        2023,
        "Gradient-based feature learning under structured data",
        "2309.03843",
    ),
    Citation(
        "suzuki2023",
        "Suzuki, Wu, Oko, Nitanda",
        2023,
        "Feature learning via mean-field Langevin dynamics: classifying sparse parities and beyond",
    ),
    Citation(
        "nitanda2024",
        "Nitanda, Oko, Suzuki, Wu",
        2024,
        "Improved statistical and computational complexity of the mean-field Langevin dynamics under structured data",
    ),
    Citation(
        "nitanda2022", "Nitanda, Wu, Suzuki", 2022, "Convex analysis of the mean field Langevin dynamics", "2201.10469"
    ),
    Citation(
        "chizat2022",
        "Chizat",
        2022,
        "Mean-field Langevin dynamics: exponential convergence and annealing",
        "2202.01009",
    ),
    Citation(
        "chen2022",
        "Chen, Ren, Wang",
        2022,
        "Uniform-in-time propagation of chaos for mean field Langevin dynamics",
        "2212.03050",
    ),
    Citation("li1991", "Li", 1991, "Sliced inverse regression for dimension reduction"),
    Citation("cook1991", "Cook, Weisberg", 1991, "Discussion of sliced inverse regression for dimension reduction"),
    Citation(
        "li1992",
        "Li",
        1992,
        "On principal Hessian directions for data visualization and dimension reduction: another application of "
        "Stein's lemma",
    ),
    Citation("cho2009", "Cho, Saul", 2009, "Kernel methods for deep learning"),
    Citation(
        "jacot2018",
        "Jacot, Gabriel, Hongler",
        2018,
        "Neural tangent kernel: convergence and generalization in neural networks",
        "1806.07572",
    ),
    Citation(
        "ghorbani2021",
        "Ghorbani, Mei, Misiakiewicz, Montanari",
        2021,
        "Linearized two-layers neural networks in high dimension",
        "1904.12191",
    ),
    Citation(
        "misiakiewicz2022",
        "Misiakiewicz",
        2022,
        "Spectrum of inner-product kernel matrices in the polynomial regime and multiple descent phenomenon in kernel "
        "ridge regression",
        "2204.10425",
    ),
    Citation(
        "bernstein2018",
        "Bernstein, Wang, Azizzadenesheli, Anandkumar",
        2018,
        "signSGD: compressed optimisation for non-convex problems",
        "1802.04434",
    ),
    Citation("kingma2015", "Kingma, Ba", 2015, "Adam: a method for stochastic optimization", "1412.6980"),
    Citation(
        "aubin2018",
        "Aubin, Maillard, Barbier, Krzakala, Macris, Zdeborova",
        2018,
        "The committee machine: computational to statistical gaps in learning a two-layers neural network",
        "1806.05451",
    ),
    Citation("saad1995", "Saad, Solla", 1995, "On-line learning in soft committee machines"),
    Citation(
        "mei2018",
        "Mei, Montanari, Nguyen",
        2018,
        "A mean field view of the landscape of two-layer neural networks",
        "1804.06561",
    ),
    Citation(
        "rotskoff2018",
        "Rotskoff, Vanden-Eijnden",
        2018,
        "Trainability and accuracy of neural networks: an interacting particle system approach",
        "1805.00915",
    ),
    Citation(
        "loureiro2021",
        "Loureiro, Gerbelot, Cui, Goldt, Krzakala, Mezard, Zdeborova",
        2021,
        "Learning curves of generic features maps for realistic datasets with a teacher-student model",
        "2102.08127",
    ),
    Citation(
        "johnstone2001",
        "Johnstone",
        2001,
        "On the distribution of the largest eigenvalue in principal components analysis",
    ),
    Citation(
        "baik2005",
        "Baik, Ben Arous, Peche",
        2005,
        "Phase transition of the largest eigenvalue for nonnull complex sample covariance matrices",
        "math/0403022",
    ),
)

CITATIONS: dict[str, Citation] = {paper.key: paper for paper in _PAPERS}


def cite(*keys: str) -> tuple[Citation, ...]:
    """The papers under these keys, in this order."""
    return tuple(CITATIONS[key] for key in keys)
