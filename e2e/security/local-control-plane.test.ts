import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
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

test('`make up` listens on 127.0.0.1 and on no other address, unless a flag names one, and warns of keys that others can read', async () => {
  const folder = await TempDir.create('make-up');
  const env = { ...process.env, MULTIPLANE_ROOT_DIRECTORY: folder.join('root') };
  const script = (name: string, ...args: string[]): Promise<unknown> =>
    run(join(repository, 'hack', name), args, { env });
  const log = folder.join('root', 'multiplane.log');
  const [first = 0, second = 0] = await freePorts(2);
  try {
    await script('up', `--secure-port=${first}`);
    // All of 127.0.0.0/8 is this machine: a server on 0.0.0.0 answers on 127.0.0.2, one on 127.0.0.1 does not.
    expect([await listens('127.0.0.1', first), await listens('127.0.0.2', first)]).toEqual([true, false]);
    await script('down');
    expect(readFileSync(log, 'utf8')).not.toContain('sa.key');
    chmodSync(folder.join('root', 'sa.key'), 0o644);
    const tokens = folder.join('tokens.csv');
    writeFileSync(tokens, 'token,user,1\n');
    chmodSync(tokens, 0o644);
    await script('up', `--secure-port=${second}`, '--bind-address=0.0.0.0', `--token-auth-file=${tokens}`);
    for (const file of [/WARN .*sa\.key.*0644/, /WARN .*tokens\.csv.*0644/])
      expect(readFileSync(log, 'utf8')).toMatch(file);
    expect([await listens('127.0.0.1', second), await listens('127.0.0.2', second)]).toEqual([true, true]);
  } finally {
    await script('down');
    await folder.remove();
  }
}, 180_000);

describe('a start', () => {
  /** What the server wrote before it refused to start. */
  async function refusal(...flags: string[]): Promise<string> {
    const folder = await TempDir.create('refused');
    const args = [
      'start',
      `--root-directory=${folder.join('root')}`,
      '--bind-address=127.0.0.1',
      '--secure-port=0',
      ...flags,
    ];
    try {
      await run(join(repository, 'bin', 'multiplane'), args, { timeout: 60_000 });
      return 'started';
    } catch (error) {
      return (error as { readonly stderr: string }).stderr;
    } finally {
      await folder.remove();
    }
  }

  test.each([
    'max-requests-inflight=0',
    'max-mutating-requests-inflight=0',
    'request-timeout=0s',
    'max-requests-inflight=-1',
  ])('with --%s is refused, since it would serve nothing', async (flag) => {
    expect(await refusal(`--${flag}`)).toContain(`--${flag.split('=')[0]}`);
  });

  test('with a broken key file is refused, with its name', async () => {
    const folder = await TempDir.create('broken-key');
    const file = folder.join('broken.pem');
    writeFileSync(file, '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n', { mode: 0o600 });
    const text = await refusal(`--service-account-private-key-file=${file}`);
    expect(text).toContain('--service-account-private-key-file');
    expect(text).toContain(file);
    await folder.remove();
  });
});
