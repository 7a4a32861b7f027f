/** Transcripts that are not played, each with the reason. */
export const cliExceptions: Readonly<Record<string, string>> = {
  '04-bind-and-claims.txt': 'sharing of APIs has an issue of its own (6)',
};

interface Difference {
  readonly why: string;
  readonly want: { readonly stdout?: string; readonly stderr?: string; readonly code?: number };
}

const typeKnown = 'the type is shown wherever it is known';
const behindProxy = 'what kcp says behind a front-proxy; the recording is of a shard';

/** Commands that print something else than kcp's, and why that is right. */
export const cliDifferences: Readonly<Record<string, Difference>> = {
  'kubectl ws :': { why: typeKnown, want: { stdout: "Current workspace is 'root' (type root).\n" } },
  'kubectl ws ..:child': {
    why: typeKnown,
    want: { stdout: "Current workspace is 'root:w-{{run}}:child' (type root:universal).\n" },
  },
  'kubectl ws nosuch': {
    why: behindProxy,
    want: { stderr: 'Error: workspace "root:w-{{run}}:child:nosuch" not found\n' },
  },
  'kubectl ws :root:nosuch': { why: behindProxy, want: { stderr: 'Error: workspace "root:nosuch" not found\n' } },
  'kubectl ws create e-{{run}} --type root:universal': {
    why: 'the note names what is there',
    want: { stderr: 'Command "create" is deprecated, use \'kubectl create workspace\' instead.\n' },
  },
  [`kubectl get workspaces w-{{run}} -o jsonpath='{.spec.type}{"\\n"}{.status.phase}{"\\n"}'`]: {
    why: 'the context of the workspace made before is current, and holds no such workspace',
    want: {
      stdout: '',
      stderr: 'Error from server (NotFound): workspaces.tenancy.kcp.io "w-{{run}}" not found\n',
      code: 1,
    },
  },
};
