import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually } from './eventually.ts';
import { freezeProcess } from './freeze-process.ts';

const echo = `process.stdin.on('data', (data) => process.stdout.write(data)); process.stdout.write('ready');`;
const start = () => spawn(process.execPath, ['-e', echo], { stdio: ['pipe', 'pipe', 'inherit'] });
let child: ReturnType<typeof start>;
let said: string;

beforeEach(async () => {
  child = start();
  said = '';
  child.stdout.on('data', (data) => (said += String(data)));
  await once(child.stdout, 'data');
});
afterEach(() => {
  child.kill('SIGKILL');
});

test('a frozen process answers no request until it continues', async () => {
  for (let round = 0; round < 20; round++) {
    said = '';
    await freezeProcess(child.pid as number);
    child.stdin.write(`${round}`);
    // A process that runs has answered before so many turns are over.
    // oxlint-disable-next-line tests/no-real-timers -- that another process does nothing can only be seen in time
    for (let turn = 0; turn < 5000; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(said).toBe('');
    child.kill('SIGCONT');
    await eventually(() => expect(said).toBe(`${round}`));
  }
});

test('rejects for a process that has exited', async () => {
  child.kill('SIGKILL');
  await once(child, 'exit');
  await expect(freezeProcess(child.pid as number)).rejects.toThrow('ESRCH');
});
