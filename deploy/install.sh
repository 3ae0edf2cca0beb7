#!/bin/sh
# Installs Castalia for the user who runs it:  curl -fsSL URL/install.sh | sh
#
#   CASTALIA_BIN=FOLDER    where the program goes (~/.local/bin)
#   CASTALIA_FROM=URL      where the release is, or a folder of this machine
#
# It downloads the list of sums, checks its signature with the key below, downloads the program, checks its sum, and
# only then puts it where it can be run. What cannot be checked is not installed: minisign or OpenSSL 3 is needed.
set -eu

version="@VERSION@"
from="${CASTALIA_FROM:-@URL@/$version}"
key="@KEY@"
bin="${CASTALIA_BIN:-$HOME/.local/bin}"

fail() {
  echo "install: $*" >&2
  exit 1
}

system=$(uname -s)
case "$system" in
  Linux) system=linux ;;
  Darwin) system=darwin ;;
  *) fail "there is no program for $system here; on Windows take the zip of the release" ;;
esac
machine=$(uname -m)
case "$machine" in
  x86_64 | amd64) machine=amd64 ;;
  aarch64 | arm64) machine=arm64 ;;
  *) fail "there is no program for $machine" ;;
esac
archive="castalia_${version}_${system}_${machine}.tar.gz"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

download() { # name
  case "$from" in
    http://* | https://*)
      if command -v curl >/dev/null; then
        curl -fsSL --retry 3 -o "$work/$1" "$from/$1"
      elif command -v wget >/dev/null; then
        wget -q -O "$work/$1" "$from/$1"
      else
        fail "curl or wget is needed"
      fi
      ;;
    *) cp "$from/$1" "$work/$1" ;;
  esac || fail "cannot download $from/$1"
}

# signed checks SHA256SUMS by minisign, or by the same steps with OpenSSL: the signature is over the BLAKE2b hash of the
# file, and a second one is over the first and the trusted comment.
signed() {
  if command -v minisign >/dev/null; then
    minisign -Vq -P "$key" -m "$work/SHA256SUMS" -x "$work/SHA256SUMS.minisig" >/dev/null 2>&1
    return
  fi
  case "$(openssl version 2>/dev/null)" in
    "OpenSSL "[3-9]*) ;;
    *) fail "the signature cannot be checked: install minisign, or OpenSSL 3" ;;
  esac
  cd "$work"
  printf '%s' "$key" | openssl base64 -d -A >key.raw
  sed -n 2p SHA256SUMS.minisig | tr -d '\r\n' | openssl base64 -d -A >sig.raw
  sed -n 4p SHA256SUMS.minisig | tr -d '\r\n' | openssl base64 -d -A >comment.sig
  # Two letters of the kind, eight bytes of the key's number, then the key or the signature.
  [ "$(wc -c <key.raw)" -eq 42 ] && [ "$(wc -c <sig.raw)" -eq 74 ] && [ "$(wc -c <comment.sig)" -eq 64 ] || return 1
  [ "$(head -c 2 sig.raw)" = ED ] || return 1
  head -c 10 key.raw | tail -c 8 >key.id
  head -c 10 sig.raw | tail -c 8 >sig.id
  cmp -s key.id sig.id || return 1
  {
    printf '\060\052\060\005\006\003\053\145\160\003\041\000' # what makes the 32 bytes an Ed25519 key to OpenSSL
    tail -c 32 key.raw
  } >key.der
  tail -c 64 sig.raw >file.sig
  openssl dgst -blake2b512 -binary -out hash SHA256SUMS
  {
    cat file.sig
    sed -n '3s/^trusted comment: //p' SHA256SUMS.minisig | tr -d '\r\n'
  } >comment.text
  for pair in hash:file.sig comment.text:comment.sig; do
    openssl pkeyutl -verify -pubin -keyform DER -inkey key.der -rawin -in "${pair%%:*}" -sigfile "${pair##*:}" >/dev/null 2>&1 || return 1
  done
}

download SHA256SUMS
download SHA256SUMS.minisig
(signed) || fail "SHA256SUMS was not signed with the key of Castalia: nothing was installed"

want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/SHA256SUMS")
[ -n "$want" ] || fail "this release has no $archive"
download "$archive"
if command -v sha256sum >/dev/null; then
  got=$(sha256sum "$work/$archive")
else
  got=$(shasum -a 256 "$work/$archive")
fi
[ "${got%% *}" = "$want" ] || fail "$archive is not what was signed: nothing was installed"

tar -xzf "$work/$archive" -C "$work" castalia
mkdir -p "$bin"
cp "$work/castalia" "$bin/.castalia.part"
chmod 0755 "$bin/.castalia.part"
mv "$bin/.castalia.part" "$bin/castalia" # at once: a program that runs goes on with the old one
echo "Castalia $version is in $bin/castalia. Start it:  castalia serve"
case ":$PATH:" in
  *":$bin:"*) ;;
  *) echo "$bin is not in your PATH: add it, or call $bin/castalia" ;;
esac
