import { targetOf } from './targets.ts';
import type { ScenarioTransport } from '../../e2e/conformance/transport.ts';

const sides = ['reference', 'subject'] as const;
type Side = (typeof sides)[number];
type ServerFlag = Side | `${Side}-${'ca' | 'tokens'}`;

/** Flags of programs that compare two servers, for `parseArgs`. */
export const serverFlags = Object.fromEntries(
  sides.flatMap((side) => [side, `${side}-ca`, `${side}-tokens`].map((name) => [name, { type: 'string' }] as const)),
) as { readonly [Flag in ServerFlag]: { readonly type: 'string' } };

/** Their lines in the usage. */
export const serverUsage = `\
  --reference URL --reference-ca FILE --reference-tokens FILE    the server that is right, such as a kube-apiserver;
                                                                 hack/conformance/reference starts one with its controllers
  --subject URL --subject-ca FILE --subject-tokens FILE          the server under test; a path in the URL is a prefix,
                                                                 such as https://127.0.0.1:6443/clusters/root:team`;

/** Throws a text for the user when a flag is missing. */
export function comparedServers(
  values: Partial<Record<ServerFlag, string>>,
): Readonly<Record<Side, ScenarioTransport>> {
  const required = (name: ServerFlag): string => {
    const value = values[name];
    if (value === undefined) throw new Error(`--${name} is missing; see --help`);
    return value;
  };
  const target = (side: Side): ScenarioTransport =>
    targetOf({ url: required(side), ca: required(`${side}-ca`), tokens: required(`${side}-tokens`) });
  return { reference: target('reference'), subject: target('subject') };
}
