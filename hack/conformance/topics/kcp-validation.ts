import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';
import { apis, binding, create, object, tenancy, workspace } from '../kcp/kcp-steps.ts';
import { mutated } from '../mutations.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';
import { acceptance } from './kcp-api-bindings.ts';
import { exportSpec, resourceSchema } from './kcp-api-exports.ts';
import { sliceSpec } from './kcp-endpoint-slices.ts';
import { workspaceTypeSpec } from './kcp-workspace-types.ts';
import { workspaceSpec } from './kcp-workspaces.ts';

const kcpGroup = 'apis.kcp.io';

/** Where an object is created, and one that is nearly valid. */
const subjects: readonly ((random: Random) => readonly [string, Body])[] = [
  (random) => [`${tenancy}/workspaces`, workspace('x', workspaceSpec(random))],
  (random) => [
    `${tenancy}/workspacetypes`,
    object('tenancy.kcp.io/v1alpha1', 'WorkspaceType', random.pick(['x', 'A b']), { spec: workspaceTypeSpec(random) }),
  ],
  (random) => [`${apis('v1alpha1')}/apiresourceschemas`, resourceSchema(random)],
  (random) => {
    const version = random.pick(['v1alpha1', 'v1alpha2']);
    return [
      `${apis(version)}/apiexports`,
      object(`${kcpGroup}/${version}`, 'APIExport', 'x', { spec: exportSpec(random, version) }),
    ];
  },
  (random) => [
    `${apis()}/apibindings`,
    binding(
      'x',
      random.pick(['root', 'root', 'root:nosuch', '']),
      random.pick(['tenancy.kcp.io', 'nosuch', '']),
      random.optional(0.5, { permissionClaims: () => random.list(2, () => acceptance(random)) }),
    ),
  ],
  (random) => [
    `${apis('v1alpha1')}/apiexportendpointslices`,
    object(`${kcpGroup}/v1alpha1`, 'APIExportEndpointSlice', 'x', { spec: sliceSpec(random) }),
  ],
  (random) => [
    '/apis/topology.kcp.io/v1alpha1/partitions',
    object('topology.kcp.io/v1alpha1', 'Partition', 'x', {
      spec: random.pick<Body>([{ selector: { matchLabels: { a: 'b' } } }, {}, { selector: { matchLabels: { a: 1 } } }]),
    }),
  ],
];

/** Dry runs of creates of every kind: decoding, schemas, defaults and admission, without a controller that is waited for. */
export const kcpValidation: Topic = {
  name: 'kcp-validation',
  isKcp: true,
  steps: (random) =>
    Array.from({ length: 20 }, (): Step => {
      const [path, body] = random.pick(subjects)(random);
      return create(
        `/clusters/root${path}?dryRun=All${random.pick(['', '', '&fieldValidation=Strict', '&fieldValidation=Ignore'])}`,
        mutated(random, body, random.chance(0.5) ? 1 + random.int(2) : 0),
        { as: random.pick(['admin', 'admin', 'admin', 'user-1', 'masters']), managedFields: random.chance(0.1) },
      );
    }),
};
