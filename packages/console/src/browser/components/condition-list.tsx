import type { ReactElement } from 'react';
import type { Condition } from '../data/kube-object.ts';
import { conditionTone } from '../model/tone.ts';
import { Age } from './age.tsx';
import { Badge } from './badge.tsx';

/** The conditions of an object, those that are not well first. */
export function ConditionList({ conditions }: { readonly conditions: readonly Condition[] }): ReactElement {
  const rank = (condition: Condition): number =>
    ({ bad: 0, warn: 1, info: 2, neutral: 3, good: 4 })[conditionTone(condition)];
  return (
    <ul className="condition-list">
      {conditions
        .toSorted((a, b) => rank(a) - rank(b))
        .map((condition) => (
          <li key={condition.type}>
            <div className="condition-head">
              <Badge tone={conditionTone(condition)}>{condition.type}</Badge>
              <span className="muted">
                {condition.status}
                {condition.reason !== undefined && condition.reason !== '' && ` · ${condition.reason}`}
              </span>
              {condition.lastTransitionTime !== undefined && (
                <span className="condition-age">
                  <Age of={condition.lastTransitionTime} />
                </span>
              )}
            </div>
            {condition.message !== undefined && condition.message !== '' && <p>{condition.message}</p>}
          </li>
        ))}
    </ul>
  );
}
