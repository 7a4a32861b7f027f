import type { AdmissionPlugin } from '@multiplane/apiserver';
import { OptionError } from '@multiplane/component-base';

/** Plugins that run only if `--enable-admission-plugins` names them, as in kcp's `pkg/admission/plugins.go`. */
const offByDefault = new Set(['apis.kcp.io/CRDNoOverlappingGVR', 'apis.kcp.io/ReservedMetadata']);
/** Rules that Kubernetes and kcp enforce outside of admission; the flags do not know these names. */
const alwaysOn = new Set([
  'AwaitIndexes',
  'TerminatingDefinition',
  'RBACEscalationCheck',
  'PolicyPermissions',
  'limits.multiplane.dev/LimitAnnotations',
]);

/**
 * The plugins that `--enable-admission-plugins` and `--disable-admission-plugins` select, in their order. Throws
 * OptionError for unknown names and for names in both flags.
 */
export function enabledPlugins(
  plugins: readonly AdmissionPlugin[],
  { enable, disable }: { readonly enable: readonly string[]; readonly disable: readonly string[] },
): readonly AdmissionPlugin[] {
  const known = new Set(plugins.map(({ name }) => name).filter((name) => !alwaysOn.has(name)));
  for (const [flag, names] of [
    ['enable', enable],
    ['disable', disable],
  ] as const) {
    const unknown = names.find((name) => !known.has(name));
    if (unknown !== undefined) throw new OptionError(`${flag}-admission-plugins plugin "${unknown}" is unknown`);
  }
  const both = enable.find((name) => disable.includes(name));
  if (both !== undefined)
    throw new OptionError(`"${both}" in enable-admission-plugins and disable-admission-plugins overlapped`);
  return plugins.filter(({ name }) => (!offByDefault.has(name) || enable.includes(name)) && !disable.includes(name));
}
