#!/usr/bin/env node
// Starts the program that npm installed for this platform, with the same arguments, streams and exit code.
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const name = `@castalia/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/castalia${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  console.error(
    `castalia: the package ${name} is not installed. Either there is none for this platform, or npm was told to leave optional\n` +
      'packages out (--omit=optional, --no-optional). Install again without that, or take a download from the release.',
  );
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => {
  console.error(`castalia: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
// A terminal's Ctrl-C reaches the program by itself, which then drains; other signals come to us and are handed on.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
