/** Transcripts that are not played, each with the reason. */
export const cliExceptions: Readonly<Record<string, string>> = {};

interface Difference {
  readonly why: string;
  readonly want: { readonly stdout?: string; readonly stderr?: string; readonly code?: number };
}

const typeKnown = 'the type is shown wherever it is known';
const behindProxy = 'what kcp says behind a front-proxy; the recording is of a shard';

const answered = 'claims that the binding lacked were added; kcp reports success and changes nothing';

/** Commands that print something else than kcp's, and why that is right; ` #2` means the second time it is typed. */
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
  'kubectl kcp claims get apibinding things #2': {
    why: answered,
    want: {
      stdout:
        'APIBINDING   GROUP-RESOURCE   VERBS      STATUS\nthings       configmaps       *          Rejected\nthings       secrets          get,list   Rejected\n',
    },
  },
  'kubectl kcp bind apiexport root:w-{{run}}:things --name second --accept-permission-claim configmaps.core --reject-permission-claim secrets.core --timeout 3s':
    {
      why: 'it says what is in the way, not that its own patience is limited',
      want: {
        stdout: 'apibinding second created. Waiting to successfully bind ...\n',
        stderr:
          'error: could not bind second: context deadline exceeded (NamingConflicts: Unable to bind APIs because they are bound by other APIBindings or CRDs: map[widgets.example.dev:{things false}])\n',
        code: 1,
      },
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
