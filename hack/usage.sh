# Sourced by the scripts of this folder after `set`: prints the comment at the beginning of the script for -h and --help.
case "${1-}" in
  -h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[1]}"
    exit
    ;;
esac
