import { expect, test } from '@jest/globals';
import { parseDuration } from './duration.ts';
import { FeatureGates } from './feature-gates.ts';
import { renderHelp } from './help.ts';
import type { OptionTable } from './option-table.ts';
import { parseOptions } from './parse-options.ts';
import { OptionError } from './parse-value.ts';
import { type Program, runCommand } from './run-command.ts';

const table = {
  'root-directory': { type: 'text', default: '.multiplane', description: 'Where everything lies.' },
  'kubeconfig-path': { type: 'text', description: 'Where the kubeconfig goes.' },
  'secure-port': { type: 'number', default: 6443, min: 0, max: 65_535, description: 'The port.' },
  'max-bytes': { type: 'number', default: 0, min: 100, max: 1_000, allowsZero: true, description: 'Bytes.' },
  'max-age': { type: 'duration', default: '0s', min: '1h', allowsZero: true, description: 'Age.' },
  'run-controllers': { type: 'boolean', default: true, description: 'Whether controllers run.' },
  'event-ttl': { type: 'duration', default: '1h', description: 'How long events stay.' },
  'cors-allowed-origins': { type: 'list', aliases: ['origins'], description: 'Origins.' },
  'feature-gates': { type: 'map', description: 'Gates.' },
  'logging-format': { type: 'text', default: 'text', choices: ['text', 'json'], description: 'Format of the log.' },
  verbosity: { type: 'number', default: 2, short: 'v', description: 'Verbosity.' },
} as const satisfies OptionTable;

const parse = (...args: string[]) => parseOptions(table, { args }).values;

test('every option has its default', () => {
  expect(parse()).toEqual({
    rootDirectory: '.multiplane',
    kubeconfigPath: undefined,
    securePort: 6443,
    maxBytes: 0,
    maxAge: 0,
    runControllers: true,
    eventTtl: 3_600_000,
    corsAllowedOrigins: [],
    featureGates: {},
    loggingFormat: 'text',
    verbosity: 2,
  });
});

test('the types follow the table', () => {
  const values = parse();
  const port: number = values.securePort;
  const format: 'text' | 'json' = values.loggingFormat;
  const path: string | undefined = values.kubeconfigPath;
  const mayBeMissing: undefined extends typeof values.kubeconfigPath ? true : false = true;
  expect([port, format, path, mayBeMissing]).toEqual([6443, 'text', undefined, true]);
});

test('accepts a value as the next argument or after an equals sign', () => {
  expect(parse('--secure-port', '1', '--root-directory=/a=b').securePort).toBe(1);
  expect(parse('--root-directory=/a=b').rootDirectory).toBe('/a=b');
  expect(parse('--root-directory=').rootDirectory).toBe('');
  expect(parse('-v', '4').verbosity).toBe(4);
});

test('a boolean flag does not take the next argument', () => {
  const { values, operands } = parseOptions(table, { args: ['--run-controllers', 'operand'] });
  expect(values.runControllers).toBe(true);
  expect(operands).toEqual(['operand']);
  expect(parse('--run-controllers=false').runControllers).toBe(false);
});

test('lists and maps accumulate, and the last single value wins', () => {
  const values = parse(
    '--cors-allowed-origins=a,b',
    '--origins',
    'c',
    '--feature-gates=A=true',
    '--feature-gates=B=false',
  );
  expect(values.corsAllowedOrigins).toEqual(['a', 'b', 'c']);
  expect(values.featureGates).toEqual({ A: 'true', B: 'false' });
  expect(parse('--secure-port=1', '--secure-port=2').securePort).toBe(2);
});

test('the environment sets flags that are not given', () => {
  const environment = { MULTIPLANE_SECURE_PORT: '7', MULTIPLANE_CORS_ALLOWED_ORIGINS: 'x', HOME: '/root' };
  const { values, given } = parseOptions(table, { args: ['--cors-allowed-origins=a', '--origins=b'], environment });
  expect(values.securePort).toBe(7);
  expect(values.corsAllowedOrigins).toEqual(['a', 'b']);
  expect([...given].sort()).toEqual(['cors-allowed-origins', 'secure-port']);
});

test.each([
  [['--secure-port=x'], 'invalid argument "x" for --secure-port: must be a whole number'],
  [['--secure-port=1.5'], 'invalid argument "1.5" for --secure-port: must be a whole number'],
  [['--secure-port=-1'], 'invalid argument "-1" for --secure-port: must be a whole number'],
  [['--event-ttl=-1s'], 'invalid argument "-1s" for --event-ttl: must be between 0s and 576h'],
  [['--event-ttl=577h'], 'invalid argument "577h" for --event-ttl: must be between 0s and 576h'],
  [['--max-bytes=99'], 'invalid argument "99" for --max-bytes: must be 0 or between 100 and 1000'],
  [['--max-age=59m'], 'invalid argument "59m" for --max-age: must be 0 or between 1h and 576h'],
  [['--secure-port=70000'], 'invalid argument "70000" for --secure-port: must be between 0 and 65535'],
  [['--secure-port'], "option '--secure-port <value>' argument missing"],
  [['--run-controllers=maybe'], 'invalid argument "maybe" for --run-controllers: must be true or false'],
  [['--event-ttl=1d'], 'invalid argument "1d" for --event-ttl: must be a duration like 1h30m or 500ms'],
  [['--feature-gates=A'], 'invalid argument "A" for --feature-gates: must be key=value pairs with commas between them'],
  [['--logging-format=xml'], 'invalid argument "xml" for --logging-format: must be one of text, json'],
  [['--root-dir=x'], "unknown option '--root-dir=x'"],
])('%j is refused', (args, message) => {
  expect(() => parse(...args)).toThrow(OptionError);
  expect(() => parse(...args)).toThrow(message);
});

test('parses Go durations', () => {
  expect(['1h30m', '1.5s', '500ms', '-3ms', '0', '2m.5s'].map(parseDuration)).toEqual([
    5_400_000, 1500, 500, -3, 0, 120_500,
  ]);
  for (const bad of ['', '5', '1d', 's', '1h ', '1 h', '..1s'])
    expect(() => parseDuration(bad)).toThrow('not a duration');
});

test('help shows all flags, with defaults', () => {
  const help = renderHelp({ usage: 'multiplane start [flags]', description: 'Starts.', sections: { General: table } });
  expect(help).toContain('General:\n  --root-directory text\n      Where everything lies. (default .multiplane)\n');
  expect(help).toContain('  --logging-format text|json\n');
  expect(help).toContain('  --run-controllers\n');
  expect(help).toContain('  -v, --verbosity number\n      Verbosity. (default 2)\n');
});

test('feature gates: explicit, by stage, by default; unknown ones are reported', () => {
  const gates = new FeatureGates(
    {
      CacheAPIs: { default: false, stage: 'alpha' },
      WorkspaceMounts: { default: false, stage: 'alpha' },
      WatchList: { default: true, stage: 'beta' },
    },
    { AllAlpha: 'true', CacheAPIs: 'false', Unheard: 'true', constructor: 'true' },
  );
  expect(gates.list().map(({ name, enabled }) => [name, enabled])).toEqual([
    ['CacheAPIs', false],
    ['WorkspaceMounts', true],
    ['WatchList', true],
  ]);
  expect(gates.unknown).toEqual(['Unheard', 'constructor']);
  expect(() => new FeatureGates({}, { X: 'yes' })).toThrow('must be true or false');
});

test('a feature gate is also known by its other names', () => {
  const known = { CacheAPIs: { default: true, stage: 'beta', aliases: ['CachedAPIs'] } } as const;
  const stateOf = (given: Record<string, string>) => {
    const gates = new FeatureGates(known, given);
    return [gates.enabled('CacheAPIs'), gates.unknown.length];
  };
  expect(stateOf({})).toEqual([true, 0]);
  expect(stateOf({ CachedAPIs: 'false' })).toEqual([false, 0]);
  expect(stateOf({ CachedAPIs: 'false', CacheAPIs: 'true' })).toEqual([true, 0]);
  expect(() => new FeatureGates(known, { CachedAPIs: 'on' })).toThrow('must be true or false');
});

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  let [stdout, stderr] = ['', ''];
  const program: Program = {
    name: 'multiplane',
    description: 'A control plane.',
    version: 'v1',
    commands: [
      {
        name: 'start',
        summary: 'Starts everything.',
        load: async () => ({
          help: { sections: { General: table } },
          run: (rest) => Promise.resolve(parseOptions(table, { args: rest }).values.securePort === 1 ? 0 : 3),
        }),
      },
      {
        name: 'pki',
        summary: 'Makes certificates.',
        load: async () => ({
          description: 'All about certificates.',
          commands: [
            {
              name: 'init',
              summary: 'Makes all.',
              load: async () => ({
                help: { sections: { General: table } },
                run: async (rest) => (rest.length === 0 ? 0 : 4),
              }),
            },
          ],
        }),
      },
      {
        name: 'broken',
        summary: 'Is never loaded unless asked for.',
        load: () => Promise.reject(new Error('was loaded')),
      },
    ],
  };
  const output = { stdout: (text: string) => void (stdout += text), stderr: (text: string) => void (stderr += text) };
  return runCommand(program, args, output).then((code) => ({ code, stdout, stderr }));
}

test('runs a sub-command', async () => {
  expect(await run('start', '--secure-port=1')).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await run('start')).toMatchObject({ code: 3 });
  expect(await run('--version')).toMatchObject({ code: 0, stdout: 'v1\n' });
  expect((await run()).stdout).toContain('  start   Starts everything.\n');
  expect((await run('start', '--help')).stdout).toContain('multiplane start [flags]');
});

test('runs the commands and the help of a command group', async () => {
  expect((await run('pki')).stdout).toContain('multiplane pki <command> [flags]');
  expect((await run('pki', '--help')).stdout).toContain('  init  Makes all.\n');
  expect((await run('pki', 'init', '--help')).stdout).toContain('multiplane pki init [flags]');
  expect(await run('pki', 'init')).toMatchObject({ code: 0 });
  expect(await run('pki', 'init', 'x')).toMatchObject({ code: 4 });
  expect(await run('pki', 'undo')).toMatchObject({
    code: 1,
    stderr: 'unknown command "undo"; see multiplane pki --help\n',
  });
});

test('prints an invalid argument as one line with a hint to --help', async () => {
  expect(await run('stop')).toMatchObject({ code: 1, stderr: 'unknown command "stop"; see multiplane --help\n' });
  expect(await run('start', '--nonsense')).toMatchObject({
    code: 1,
    stderr: "unknown option '--nonsense'\nsee multiplane start --help\n",
  });
});
