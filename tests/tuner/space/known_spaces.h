// Tuning spaces whose counts are known from elsewhere: the AMBER dedispersion kernel, CLBlast's Xgemm and
// ATF's record linkage, as in "Efficient Construction of Large Search Spaces for Auto-Tuning" (Willemsen, van
// Nieuwpoort, van Werkhoven, ICPP 2025).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lathe {

struct KnownSpace {
  std::string name;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> parameters;
  std::vector<std::string> conditions;
  double cartesian, valid;
};

inline std::vector<KnownSpace> known_spaces() {
  return {
      {"dedispersion",
       {{"block_size_x", {1, 2, 4, 8, 16, 32}},
        {"block_size_y", {32,  40,  48,  56,  64,  72,  80,  88,  96,  104, 112, 120, 128, 136, 144,
                          152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 248, 256}},
        {"block_size_z", {1}},
        {"tile_size_x", {1, 2, 3, 4}},
        {"tile_size_y", {1, 2, 3, 4, 5, 6, 7, 8}},
        {"tile_stride_x", {0, 1}},
        {"tile_stride_y", {0, 1}},
        {"loop_unroll_factor_channel", {0}}},
       {"block_size_x * block_size_y >= 32", "block_size_x * block_size_y <= 1024",
        "tile_size_x > 1 || tile_stride_x == 0", "tile_size_y > 1 || tile_stride_y == 0"},
       22272,
       11130},
      {"gemm",
       {{"GEMMK", {0}},
        {"MWG", {16, 32, 64, 128}},
        {"NWG", {16, 32, 64, 128}},
        {"KWG", {16, 32}},
        {"MDIMC", {8, 16, 32}},
        {"NDIMC", {8, 16, 32}},
        {"MDIMA", {8, 16, 32}},
        {"NDIMB", {8, 16, 32}},
        {"KWI", {2}},
        {"VWM", {1, 2, 4, 8}},
        {"VWN", {1, 2, 4, 8}},
        {"STRM", {0, 1}},
        {"STRN", {0, 1}},
        {"SA", {0, 1}},
        {"SB", {0, 1}},
        {"KREG", {1}},
        {"PRECISION", {32}}},
       {"KWG % KWI == 0", "MWG % (MDIMC * VWM) == 0", "NWG % (NDIMC * VWN) == 0", "MWG % (MDIMA * VWM) == 0",
        "NWG % (NDIMB * VWN) == 0", "KWG % ((MDIMC * NDIMC)/MDIMA) == 0",
        "KWG % ((MDIMC * NDIMC)/NDIMB) == 0", "MWG != 128 || NWG != 128 || MDIMC != 8 || NDIMC != 8"},
       663552,
       116928},
      {"atf_prl4",
       {{"CACHE_L_CB", {0, 1}},
        {"CACHE_P_CB", {0, 1}},
        {"G_CB_RES_DEST_LEVEL", {2}},
        {"L_CB_RES_DEST_LEVEL", {2, 1, 0}},
        {"P_CB_RES_DEST_LEVEL", {2, 1, 0}},
        {"INPUT_SIZE_L_1", {4}},
        {"L_CB_SIZE_L_1", {1, 2, 3, 4}},
        {"P_CB_SIZE_L_1", {1, 2, 3, 4}},
        {"OCL_DIM_L_1", {0, 1}},
        {"NUM_WG_L_1", {1, 2, 3, 4}},
        {"NUM_WI_L_1", {1, 2, 3, 4}},
        {"INPUT_SIZE_R_1", {4}},
        {"L_CB_SIZE_R_1", {1, 2, 3, 4}},
        {"P_CB_SIZE_R_1", {1, 2, 3, 4}},
        {"OCL_DIM_R_1", {0, 1}},
        {"NUM_WG_R_1", {1, 2, 3, 4}},
        {"NUM_WI_R_1", {1, 2, 3, 4}},
        {"L_REDUCTION", {1}},
        {"P_WRITE_BACK", {0}},
        {"L_WRITE_BACK", {1}}},
       {"L_CB_RES_DEST_LEVEL <= G_CB_RES_DEST_LEVEL", "P_CB_RES_DEST_LEVEL <= L_CB_RES_DEST_LEVEL",
        "INPUT_SIZE_L_1 % L_CB_SIZE_L_1 == 0", "L_CB_SIZE_L_1 % P_CB_SIZE_L_1 == 0",
        "(INPUT_SIZE_L_1 / L_CB_SIZE_L_1) % NUM_WG_L_1 == 0",
        "(L_CB_SIZE_L_1 / P_CB_SIZE_L_1) % NUM_WI_L_1 == 0",
        "NUM_WI_L_1 <= (INPUT_SIZE_L_1 + NUM_WG_L_1 - 1 / NUM_WG_L_1)", "INPUT_SIZE_R_1 % L_CB_SIZE_R_1 == 0",
        "L_CB_SIZE_R_1 % P_CB_SIZE_R_1 == 0", "OCL_DIM_R_1 != OCL_DIM_L_1",
        "(INPUT_SIZE_R_1 / L_CB_SIZE_R_1) % NUM_WG_R_1 == 0",
        "(L_CB_SIZE_R_1 / P_CB_SIZE_R_1) % NUM_WI_R_1 == 0",
        "NUM_WI_R_1 <= (INPUT_SIZE_R_1 + NUM_WG_R_1 - 1 / NUM_WG_R_1)",
        "NUM_WG_R_1 == 1 || (NUM_WG_R_1 % L_CB_SIZE_R_1 == 0)"},
       9437184,
       10800},
  };
}

} // namespace lathe
