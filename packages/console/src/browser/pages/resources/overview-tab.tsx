import type { ReactElement } from 'react';
import { Age } from '../../components/age.tsx';
import { Card } from '../../components/card.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { ConditionList } from '../../components/condition-list.tsx';
import { Facts } from '../../components/facts.tsx';
import { Notice } from '../../components/notice.tsx';
import { ValueTree } from '../../components/value-tree.tsx';
import type { KubeObject } from '../../data/kube-object.ts';
import { kubectlName, type ApiResource } from '../../model/discovery.ts';
import { stateOf } from '../../model/object-status.ts';

const apart = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/** What the object is, how it does, and what is asked of it. */
export function OverviewTab({
  cluster,
  resource,
  object,
}: {
  readonly cluster: string;
  readonly resource: ApiResource;
  readonly object: KubeObject;
}): ReactElement {
  const { metadata, status } = object;
  const { conditions } = stateOf(object);
  const content = membersOf(object).filter(([name]) => !apart.has(name));
  const state = membersOf(status).filter(([name]) => name !== 'conditions');
  const flag = metadata.namespace === undefined ? '' : ` --namespace ${metadata.namespace}`;
  const finalizers = metadata.finalizers ?? [];
  return (
    <div className="stack">
      {metadata.deletionTimestamp !== undefined && (
        <Notice tone="warn" title="It is being deleted">
          {finalizers.length === 0
            ? 'It is about to go.'
            : `It goes once these finalizers are removed: ${finalizers.join(', ')}.`}
        </Notice>
      )}
      <Card title="About">
        <Facts
          of={[
            ['Kind', `${resource.kind} · ${object.apiVersion ?? resource.version}`],
            ['Namespace', metadata.namespace],
            ['Created', metadata.creationTimestamp === undefined ? undefined : <Age of={metadata.creationTimestamp} />],
            ['UID', metadata.uid === undefined ? undefined : <code>{metadata.uid}</code>],
            ['Resource version', metadata.resourceVersion],
            ['Finalizers', finalizers.join(', ')],
          ]}
        />
        <Pairs title="Labels" of={metadata.labels} />
        <Pairs title="Annotations" of={metadata.annotations} />
      </Card>
      {conditions.length > 0 && (
        <Card title="Conditions">
          <ConditionList conditions={conditions} />
        </Card>
      )}
      {content.map(([name, value]) => (
        <Card key={name} title={titleOf(name)}>
          <ValueTree value={value} />
        </Card>
      ))}
      {state.length > 0 && (
        <Card title="Status">
          <ValueTree value={Object.fromEntries(state)} />
        </Card>
      )}
      <CommandBox
        command={`kubectl ws :${cluster}\nkubectl get ${kubectlName(resource)} ${metadata.name}${flag} -o yaml`}
      />
    </div>
  );
}

const membersOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value as Readonly<Record<string, unknown>>)
    : [];

/** The whole object once more, which `kubectl apply` needs and nobody reads. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

const titleOf = (name: string): string => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;

function Pairs({
  title,
  of,
}: {
  readonly title: string;
  readonly of: Readonly<Record<string, string>> | undefined;
}): ReactElement | null {
  const entries = Object.entries(of ?? {}).filter(([name]) => name !== lastApplied);
  if (entries.length === 0) return null;
  return (
    <div className="pairs">
      <h3>{title}</h3>
      <ul>
        {entries.map(([name, value]) => (
          <li key={name} className="tag" title={`${name}=${value}`}>
            <span>{name}</span>
            {value !== '' && <b>{value}</b>}
          </li>
        ))}
      </ul>
    </div>
  );
}
