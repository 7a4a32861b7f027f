# What hack/up and hack/down share: where the local control plane lies, and whether it runs. To be sourced.

root_directory=${MULTIPLANE_ROOT_DIRECTORY:-.multiplane}
pid_file=$root_directory/multiplane.pid
log_file=$root_directory/multiplane.log
kubeconfig=$root_directory/admin.kubeconfig

# Prints the process id if the control plane that hack/up started is alive. A pid file alone proves nothing: after a
# reboot the number may belong to another process.
running_pid() {
  local pid
  [ -f "$pid_file" ] || return 1
  pid=$(cat "$pid_file")
  kill -0 "$pid" 2>/dev/null || return 1
  if [ -r "/proc/$pid/cmdline" ]; then
    tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q 'multiplane/dist/main.js' || return 1
  fi
  echo "$pid"
}
