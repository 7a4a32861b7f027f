import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, jest, test } from '@jest/globals';
import { unlessMissing } from '@multiplane/testing';
import { environmentName } from '../packages/component-base/src/options/option-table.ts';
import { parseOptions } from '../packages/component-base/src/options/parse-options.ts';
import { pkiInitCommand } from '../packages/multiplane/src/commands/pki-init.ts';
import { pkiSecretsCommand } from '../packages/multiplane/src/commands/pki-secrets.ts';
import { shardOptionTable } from '../packages/shard/src/options.ts';
import { renderedFolder } from './helm/chart.ts';
import { manifestsOf } from './helm/manifests.ts';

/* The commands of deploy/README.md, as far as they run on any machine. */

const repository = join(import.meta.dirname, '..');
const guide = readFileSync(join(repository, 'deploy', 'README.md'), 'utf8');
const unit = readFileSync(join(repository, 'deploy', 'systemd', 'multiplane.service'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'deployment-guide-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Arguments of a command of the guide, without its line breaks. */
function argumentsOf(command: string): string[] {
  const start = guide.indexOf(`bin/multiplane ${command} `);
  const text =
    guide
      .slice(start)
      .replaceAll(/\\\n\s*/g, ' ')
      .split('\n')[0] ?? '';
  return (text.split(' | ')[0] ?? '').trim().split(/\s+/).slice(3);
}

test('`multiplane pki` as in the guide makes every Secret that the chart mounts', async () => {
  const directory = join(folder, 'pki');
  const inFolder = (args: string[]): string[] => args.map((each) => (each === 'pki' ? directory : each));
  let output = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += String(text);
    return true;
  });
  expect(argumentsOf('pki init')).toContain('--name-prefix');
  await pkiInitCommand({}).run(inFolder(argumentsOf('pki init')));
  output = '';
  await pkiSecretsCommand({}).run(inFolder(argumentsOf('pki secrets')));
  jest.restoreAllMocks();

  const { items } = JSON.parse(output) as {
    items: { metadata: { name: string; namespace: string }; data: Record<string, string> }[];
  };
  expect(new Set(items.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['multiplane']));
  const keys = new Map(items.map(({ metadata, data }) => [metadata.name, Object.keys(data)]));
  const missing = manifestsOf(readFileSync(join(renderedFolder, 'default.yaml'), 'utf8'))
    .flatMap(({ spec }) => spec?.template?.spec.volumes ?? [])
    .flatMap(({ projected }) => projected?.sources ?? [])
    .flatMap(({ secret }) => secret ?? [])
    .flatMap(({ name, items: mounted }) => mounted.map(({ key }) => ({ name, key })))
    .filter(({ name, key }) => !(keys.get(name) ?? []).includes(key))
    // etcd and NATS of the chart.
    .map(({ name, key }) => `${name}: ${key}`);
  expect([...new Set(missing)]).toEqual([]);
  expect(keys.size).toBeGreaterThan(20);
}, 60_000);

test('the command of the systemd unit has flags that there are, and so does its environment in the guide', () => {
  const command = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '';
  const [program, verb, ...args] = command.split(' ');
  expect([program, verb]).toEqual(['/opt/multiplane/bin/multiplane', 'start']);
  expect(parseOptions(shardOptionTable, { args }).operands).toEqual([]);

  const known = new Set(Object.keys(shardOptionTable).map(environmentName));
  const section = guide.slice(guide.indexOf('## systemd'));
  const named = [...section.matchAll(/\b(MULTIPLANE_[A-Z_]+)=/g)].map(([, name]) => name as string);
  expect(named.length).toBeGreaterThan(2);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  expect(unit).toContain('EnvironmentFile=-/etc/default/multiplane');
});

const systemd = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' });
unlessMissing(systemd.status === 0 ? undefined : 'systemd-analyze is not on the PATH; install systemd', test)(
  'systemd finds nothing wrong with the unit',
  () => {
    const file = join(folder, 'multiplane.service');
    writeFileSync(file, unit.replace('/opt/multiplane/bin/multiplane', process.execPath));
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
    // Only what it says about this unit: those of the machine are not ours.
    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('multiplane'));
    // oxlint-disable-next-line jest/no-standalone-expect -- a test calls it
    expect([lines, status]).toEqual([[], 0]);
  },
);
