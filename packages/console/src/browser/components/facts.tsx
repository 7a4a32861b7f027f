import type { ReactElement, ReactNode } from 'react';

/** Names and values, in columns where there is room. Values that are undefined are left out. */
export function Facts({ of }: { readonly of: readonly (readonly [name: string, value: ReactNode])[] }): ReactElement {
  return (
    <dl className="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
