// Stand-in for <mpi.h>, used only where none is found: launchers are read, not run, and what they send to
// other processes changes no launch.
#pragma once

#include <cstddef>

using MPI_Aint = std::ptrdiff_t;
using MPI_Offset = long long;
struct MPI_Status {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
};

// Handles, which are compared and passed on.
#define LATHE_MPI_HANDLE(name)                                                                               \
  struct name {                                                                                              \
    int id;                                                                                                  \
    friend bool operator==(name a, name b) {                                                                 \
      return a.id == b.id;                                                                                   \
    }                                                                                                        \
    friend bool operator!=(name a, name b) {                                                                 \
      return a.id != b.id;                                                                                   \
    }                                                                                                        \
  };
LATHE_MPI_HANDLE(MPI_Comm)
LATHE_MPI_HANDLE(MPI_Datatype)
LATHE_MPI_HANDLE(MPI_File)
LATHE_MPI_HANDLE(MPI_Group)
LATHE_MPI_HANDLE(MPI_Info)
LATHE_MPI_HANDLE(MPI_Op)
LATHE_MPI_HANDLE(MPI_Request)
LATHE_MPI_HANDLE(MPI_Win)
#undef LATHE_MPI_HANDLE

inline constexpr MPI_Comm MPI_COMM_NULL{0}, MPI_COMM_WORLD{1}, MPI_COMM_SELF{2};
inline constexpr MPI_Request MPI_REQUEST_NULL{0};
inline constexpr MPI_Info MPI_INFO_NULL{0};
inline constexpr MPI_Group MPI_GROUP_NULL{0}, MPI_GROUP_EMPTY{1};
inline constexpr MPI_Win MPI_WIN_NULL{0};
inline constexpr MPI_Op MPI_SUM{1}, MPI_PROD{2}, MPI_MAX{3}, MPI_MIN{4}, MPI_LAND{5}, MPI_LOR{6}, MPI_BAND{7},
    MPI_BOR{8}, MPI_MAXLOC{9}, MPI_MINLOC{10};
inline constexpr MPI_Datatype MPI_DATATYPE_NULL{0}, MPI_CHAR{1}, MPI_SIGNED_CHAR{2}, MPI_UNSIGNED_CHAR{3},
    MPI_BYTE{4}, MPI_SHORT{5}, MPI_UNSIGNED_SHORT{6}, MPI_INT{7}, MPI_UNSIGNED{8}, MPI_LONG{9},
    MPI_UNSIGNED_LONG{10}, MPI_LONG_LONG{11}, MPI_LONG_LONG_INT{11}, MPI_UNSIGNED_LONG_LONG{12},
    MPI_FLOAT{13}, MPI_DOUBLE{14}, MPI_LONG_DOUBLE{15}, MPI_INT8_T{16}, MPI_UINT8_T{17}, MPI_INT16_T{18},
    MPI_UINT16_T{19}, MPI_INT32_T{20}, MPI_UINT32_T{21}, MPI_INT64_T{22}, MPI_UINT64_T{23}, MPI_C_BOOL{24},
    MPI_CXX_BOOL{24}, MPI_FLOAT_INT{25}, MPI_DOUBLE_INT{26}, MPI_2INT{27};
inline MPI_Status* const MPI_STATUS_IGNORE = nullptr;
inline MPI_Status* const MPI_STATUSES_IGNORE = nullptr;
inline void* const MPI_IN_PLACE = nullptr;
inline void* const MPI_BOTTOM = nullptr;
inline constexpr int MPI_SUCCESS = 0, MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -2, MPI_PROC_NULL = -3,
                     MPI_UNDEFINED = -4, MPI_MAX_PROCESSOR_NAME = 256, MPI_MAX_ERROR_STRING = 512,
                     MPI_COMM_TYPE_SHARED = 1, MPI_THREAD_SINGLE = 0, MPI_THREAD_FUNNELED = 1,
                     MPI_THREAD_SERIALIZED = 2, MPI_THREAD_MULTIPLE = 3;

// Each takes what it is given.
#define LATHE_MPI(name)                                                                                      \
  template <class... Arguments> int name(Arguments&&...) {                                                   \
    return MPI_SUCCESS;                                                                                      \
  }
LATHE_MPI(MPI_Abort)
LATHE_MPI(MPI_Allgather)
LATHE_MPI(MPI_Allgatherv)
LATHE_MPI(MPI_Allreduce)
LATHE_MPI(MPI_Alltoall)
LATHE_MPI(MPI_Alltoallv)
LATHE_MPI(MPI_Barrier)
LATHE_MPI(MPI_Bcast)
LATHE_MPI(MPI_Cart_coords)
LATHE_MPI(MPI_Cart_create)
LATHE_MPI(MPI_Cart_rank)
LATHE_MPI(MPI_Cart_shift)
LATHE_MPI(MPI_Comm_dup)
LATHE_MPI(MPI_Comm_free)
LATHE_MPI(MPI_Comm_group)
LATHE_MPI(MPI_Comm_rank)
LATHE_MPI(MPI_Comm_size)
LATHE_MPI(MPI_Comm_split)
LATHE_MPI(MPI_Comm_split_type)
LATHE_MPI(MPI_Dims_create)
LATHE_MPI(MPI_Error_string)
LATHE_MPI(MPI_Exscan)
LATHE_MPI(MPI_Finalize)
LATHE_MPI(MPI_Finalized)
LATHE_MPI(MPI_Gather)
LATHE_MPI(MPI_Gatherv)
LATHE_MPI(MPI_Get_count)
LATHE_MPI(MPI_Get_processor_name)
LATHE_MPI(MPI_Iallreduce)
LATHE_MPI(MPI_Ibcast)
LATHE_MPI(MPI_Info_create)
LATHE_MPI(MPI_Info_free)
LATHE_MPI(MPI_Info_set)
LATHE_MPI(MPI_Init)
LATHE_MPI(MPI_Init_thread)
LATHE_MPI(MPI_Initialized)
LATHE_MPI(MPI_Iprobe)
LATHE_MPI(MPI_Irecv)
LATHE_MPI(MPI_Isend)
LATHE_MPI(MPI_Probe)
LATHE_MPI(MPI_Recv)
LATHE_MPI(MPI_Reduce)
LATHE_MPI(MPI_Request_free)
LATHE_MPI(MPI_Scan)
LATHE_MPI(MPI_Scatter)
LATHE_MPI(MPI_Scatterv)
LATHE_MPI(MPI_Send)
LATHE_MPI(MPI_Sendrecv)
LATHE_MPI(MPI_Start)
LATHE_MPI(MPI_Startall)
LATHE_MPI(MPI_Test)
LATHE_MPI(MPI_Testall)
LATHE_MPI(MPI_Type_commit)
LATHE_MPI(MPI_Type_contiguous)
LATHE_MPI(MPI_Type_create_struct)
LATHE_MPI(MPI_Type_free)
LATHE_MPI(MPI_Type_vector)
LATHE_MPI(MPI_Wait)
LATHE_MPI(MPI_Waitall)
LATHE_MPI(MPI_Waitany)
#undef LATHE_MPI
inline double MPI_Wtime() {
  return 0;
}
