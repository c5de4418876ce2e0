# Completion of the fairway command for bash. What there is comes from the command's own --help, so that it is never behind; names of rooms and
# queues come from the gateway that --api or FAIRWAY_API tells, if it answers.
_fairway() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=() api=() word i help
  [[ $current == = ]] && current=''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == --api ]]; then
      # bash takes a URL apart at its colons.
      word=''
      while ((i + 1 < COMP_CWORD)) && [[ ${COMP_WORDS[i + 1]} != -* ]] && { [[ -z $word ]] || [[ ${COMP_WORDS[i + 1]} == :* || $word == *: ]]; }; do
        word+=${COMP_WORDS[++i]}
      done
      api=(--api "$word")
    elif [[ $word != -* ]]; then
      words+=("$word")
    fi
  done
  case $previous in
    --keys | --output | --console-password-file | --state | --access-log | --report)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      compopt -o filenames 2>/dev/null
      return
      ;;
  esac
  help=$("${COMP_WORDS[0]}" "${words[@]:0:2}" --help 2>/dev/null)
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE '^ +(-h,)?--[a-z-]+' <<<"$help" | grep -oE -- '--[a-z-]+')" -- "$current")
  elif [[ $help == *$'\nSubcommands:'* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed '1,/^Subcommands:/d' <<<"$help" | grep -oE '^  [a-z]+')" -- "$current")
  elif ((${#words[@]} == 2)) && [[ ${words[0]} == @(room|queue) && ${words[1]} != @(list|create) ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" "${words[0]}" list "${api[@]}" 2>/dev/null | sed -n '2,$s/ .*//p')" -- "$current")
  elif ((${#words[@]} > 2)) && [[ "${words[*]:0:2}" == 'room '@(set|create) && $previous != = ]]; then
    compopt -o nospace 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE '\b[a-z_]+=( |$)' <<<"$help")" -- "$current")
  fi
}
complete -F _fairway fairway
