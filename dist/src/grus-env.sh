# Selects Grus for the Vulkan programs of this shell: `. ./grus-env.sh`. The script lies beside the
# manifest; where the shell does not say which script it reads, GRUS_HOME names the folder.
if [ -z "${GRUS_HOME:-}" ]; then
    if [ -n "${BASH_SOURCE:-}" ]; then
        GRUS_HOME=$(cd "$(dirname "$BASH_SOURCE")" && pwd)
    elif [ -n "${ZSH_VERSION:-}" ]; then
        GRUS_HOME=$(cd "$(dirname "$0")" && pwd)
    else
        GRUS_HOME=$PWD
    fi
fi
if [ -f "$GRUS_HOME/grus_icd.json" ]; then
    export VK_DRIVER_FILES="$GRUS_HOME/grus_icd.json" VK_ICD_FILENAMES="$GRUS_HOME/grus_icd.json"
else
    echo "grus-env.sh: no grus_icd.json in $GRUS_HOME; set GRUS_HOME" >&2
fi
