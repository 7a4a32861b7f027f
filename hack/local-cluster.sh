# What hack/up and hack/down share: where the local control plane lies, and whether it runs. To be sourced.

root_directory=${MULTIPLANE_ROOT_DIRECTORY:-.multiplane}
pid_file=$root_directory/multiplane.pid
log_file=$root_directory/multiplane.log
kubeconfig=$root_directory/admin.kubeconfig

# The arguments of a process: small images of Linux have no ps, and macOS has no /proc.
arguments_of() {
  if [ -r "/proc/$1/cmdline" ]; then tr '\0' ' ' <"/proc/$1/cmdline"; else ps -o args= -p "$1"; fi
}

# Prints the process id if the control plane that hack/up started is alive. A pid file alone proves nothing: after a
# reboot the number may belong to another process.
running_pid() {
  local pid
  [ -f "$pid_file" ] || return 1
  pid=$(cat "$pid_file")
  kill -0 "$pid" 2>/dev/null || return 1
  arguments_of "$pid" | grep -q 'multiplane/dist/main.js' || return 1
  echo "$pid"
}
