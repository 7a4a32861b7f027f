import type { KubeObject } from '@multiplane/apimachinery';
import { groupResourceText, unansweredClaims, type Binding } from '../permission-claims.ts';
import { ok, problem, warning, type Finding } from './finding.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** An object with conditions and, if it is an endpoint slice, the export and the endpoints. */
export type ConditionedObject = KubeObject & {
  readonly spec?: { readonly export?: { readonly path?: string; readonly name: string } };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly endpoints?: readonly unknown[];
  };
};

const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? '';

function unmetConditions({ status }: ConditionedObject): string[] {
  return (status?.conditions ?? [])
    .filter((condition) => condition.status !== 'True')
    .map(
      ({ type, reason = 'no reason', message = '' }) => `${type} (${reason})${message === '' ? '' : `: ${message}`}`,
    );
}

/** Bindings that are not bound, and claims that nobody answered. */
export function checkBindings(bindings: readonly Binding[]): Finding[] {
  const findings = bindings.flatMap((binding): Finding[] => {
    const name = nameOf(binding);
    const { status } = binding;
    const unmet = unmetConditions(binding as ConditionedObject);
    const isBound = status?.phase === 'Bound';
    const state =
      isBound && unmet.length === 0
        ? []
        : [
            (isBound ? warning : problem)(
              `APIBinding ${name}`,
              `${isBound ? 'bound, but' : `phase ${status?.phase ?? 'unknown'}:`} ${unmet.join('; ') || 'no condition says why'}`,
              `see kubectl describe apibinding ${name}; the export may be deleted, or its resources clash with others here`,
            ),
          ];
    return [
      ...state,
      ...unansweredClaims(binding).map((claim) => {
        const { group = '', resource } = claim;
        return warning(
          `APIBinding ${name}`,
          `the claim of the provider on ${groupResourceText(claim)} is not answered, so it has no access`,
          `kubectl kcp claims accept ${name} --resource ${resource}.${group === '' ? 'core' : group}, or reject`,
        );
      }),
    ];
  });
  return findings.length > 0 ? findings : [ok('APIBindings', `${bindings.length} bound, all claims answered`)];
}

/** Exports that are not valid or that no endpoint slice belongs to, and slices that are not valid. */
export function checkExports(
  workspace: string,
  exports: readonly ConditionedObject[],
  slices: readonly ConditionedObject[],
): Finding[] {
  const served = new Set(
    slices
      .filter(({ spec }) => (spec?.export?.path ?? workspace) === workspace || spec?.export?.path === '')
      .map(({ spec }) => spec?.export?.name),
  );
  const findings = [
    ...exports.flatMap((each): Finding[] => {
      const name = nameOf(each);
      return [
        ...unmetConditions(each).map((text) =>
          problem(`APIExport ${name}`, text, `see kubectl describe apiexport ${name}, then correct its spec`),
        ),
        ...(served.has(name)
          ? []
          : [
              warning(
                `APIExport ${name}`,
                'no APIExportEndpointSlice of this workspace lists the URLs of its consumers',
                `create an APIExportEndpointSlice with spec.export.name ${name}, where its controllers look for URLs`,
              ),
            ]),
      ];
    }),
    ...slices.flatMap((slice) =>
      unmetConditions(slice).map((text) =>
        problem(
          `APIExportEndpointSlice ${nameOf(slice)}`,
          text,
          'check that spec.export and spec.partition name objects that exist',
        ),
      ),
    ),
  ];
  if (exports.length + slices.length === 0) return [];
  const endpoints = slices.reduce((sum, { status }) => sum + (status?.endpoints?.length ?? 0), 0);
  return findings.length > 0
    ? findings
    : [ok('APIExports', `${exports.length} valid, with ${endpoints} endpoints in ${slices.length} slices`)];
}
