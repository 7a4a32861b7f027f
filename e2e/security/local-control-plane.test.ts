import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { freePorts, TempDir } from '@multiplane/testing';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '..', '..');

/** Whether something listens on an address of this machine. */
const listens = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });

test('`make up` listens on 127.0.0.1 and on no other address, unless a flag names one', async () => {
  const folder = await TempDir.create('make-up');
  const env = { ...process.env, MULTIPLANE_ROOT_DIRECTORY: folder.join('root') };
  const script = (name: string, ...args: string[]): Promise<unknown> =>
    run(join(repository, 'hack', name), args, { env });
  const [first = 0, second = 0] = await freePorts(2);
  try {
    await script('up', `--secure-port=${first}`);
    // All of 127.0.0.0/8 is this machine: a server on 0.0.0.0 answers on 127.0.0.2, one on 127.0.0.1 does not.
    expect([await listens('127.0.0.1', first), await listens('127.0.0.2', first)]).toEqual([true, false]);
    await script('down');
    await script('up', `--secure-port=${second}`, '--bind-address=0.0.0.0');
    expect([await listens('127.0.0.1', second), await listens('127.0.0.2', second)]).toEqual([true, true]);
  } finally {
    await script('down');
    await folder.remove();
  }
}, 180_000);
