// What Lathe and its compile helper say to each other on the control socket (a local stream socket): first
// the helper's hello as a frame (opened: bool, its version or the error: text), then one descriptor a byte
// one way and HelperMessages the other.
#pragma once

namespace lathe {

inline constexpr int COMPILE_CONTROL = 3; // the helper's end

struct HelperMessage {
  enum Kind : int { started, ended } kind;
  int pid;
  int status; // ended: as waitpid gives it; started with pid < 0: why not (errno)
};

// Passes a descriptor over a local socket; false or -1 when the other end is gone.
bool send_descriptor(int socket, int descriptor);
int receive_descriptor(int socket);

} // namespace lathe
