import type { ReactElement } from 'react';
import { Age } from '../../components/age.tsx';
import { Badge } from '../../components/badge.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import type { KubeObject } from '../../data/kube-object.ts';
import { ownedFields } from '../../model/owned-fields.ts';

/** Who set which fields last. */
export function ManagedFieldsTab({ object }: { readonly object: KubeObject }): ReactElement {
  const entries = object.metadata.managedFields ?? [];
  if (entries.length === 0)
    return (
      <EmptyState icon="user" title="Nobody owns fields of this object">
        <p>The server records here which client set which field, once one writes through it.</p>
      </EmptyState>
    );
  return (
    <div className="stack">
      {entries.map(({ manager = 'unknown', operation, time, subresource, fieldsV1 }, index) => (
        <section key={`${manager}/${index}`} className="card owner-card" aria-label={manager}>
          <header>
            <strong>{manager}</strong>
            <Badge tone={operation === 'Apply' ? 'info' : 'neutral'}>{operation ?? 'Update'}</Badge>
            {subresource !== undefined && subresource !== '' && <span className="tag">{subresource}</span>}
            {time !== undefined && (
              <span className="owner-age">
                <Age of={time} /> ago
              </span>
            )}
          </header>
          <ul>
            {ownedFields(fieldsV1).map((field) => (
              <li key={field} className="tag">
                {field}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}
