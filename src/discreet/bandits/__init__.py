"""Bandit policies, one file each. What several of them share is in modules with a leading underscore."""

from discreet.bandits._policy import Policy
from discreet.bandits.adap_klucb import AdaPKLUCB
from discreet.bandits.adap_ucb import AdaPUCB
from discreet.bandits.dp_arms_elimination import DPArmsElimination
from discreet.bandits.dp_best_arm import DPBestArm
from discreet.bandits.dp_budget_best_arm import DPBudgetBestArm
from discreet.bandits.dp_chernoff_imed import DPChernoffIMED
from discreet.bandits.dp_difference_elimination import DPDifferenceElimination
from discreet.bandits.dp_evidence_best_arm import DPEvidenceBestArm
from discreet.bandits.dp_hybrid_ucb import DPHybridUCB
from discreet.bandits.dp_imed import DPIMED
from discreet.bandits.dp_klucb import DPKLUCB
from discreet.bandits.dp_modified_elimination import ModifiedDPSuccessiveElimination
from discreet.bandits.dp_one_vector_elimination import DPOneVectorElimination
from discreet.bandits.dp_paired_imed import DPPairedIMED
from discreet.bandits.dp_pairs_elimination import DPPairsElimination
from discreet.bandits.dp_person_elimination import DPPersonElimination
from discreet.bandits.dp_sharp_best_arm import DPSharpBestArm
from discreet.bandits.dp_sharp_elimination import DPSharpElimination
from discreet.bandits.dp_sharp_person_elimination import DPSharpPersonElimination
from discreet.bandits.dp_sparse_vector_elimination import DPSparseVectorElimination
from discreet.bandits.dp_successive_elimination import DPSuccessiveElimination
from discreet.bandits.dp_ucb import DPUCB
from discreet.bandits.guess_and_double import GuessAndDouble
from discreet.bandits.imed import IMED
from discreet.bandits.kl_ucb import KLUCB
from discreet.bandits.lazy_dp_ts import LazyDPTS
from discreet.bandits.lazy_ucb import AnytimeLazyUCB
from discreet.bandits.own_policy import OwnPolicy, learned
from discreet.bandits.successive_elimination import SuccessiveElimination
from discreet.bandits.thompson_sampling import ThompsonSampling
from discreet.bandits.ucb import UCB

__all__ = [
    "DPIMED",
    "DPKLUCB",
    "DPUCB",
    "IMED",
    "KLUCB",
    "UCB",
    "AdaPKLUCB",
    "AdaPUCB",
    "AnytimeLazyUCB",
    "DPArmsElimination",
    "DPBestArm",
    "DPBudgetBestArm",
    "DPChernoffIMED",
    "DPDifferenceElimination",
    "DPEvidenceBestArm",
    "DPHybridUCB",
    "DPOneVectorElimination",
    "DPPairedIMED",
    "DPPairsElimination",
    "DPPersonElimination",
    "DPSharpBestArm",
    "DPSharpElimination",
    "DPSharpPersonElimination",
    "DPSparseVectorElimination",
    "DPSuccessiveElimination",
    "GuessAndDouble",
    "LazyDPTS",
    "ModifiedDPSuccessiveElimination",
    "OwnPolicy",
    "Policy",
    "SuccessiveElimination",
    "ThompsonSampling",
    "learned",
]
