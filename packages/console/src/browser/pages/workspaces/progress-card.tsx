import type { ReactElement } from 'react';
import { Card } from '../../components/card.tsx';
import { Icon } from '../../components/icon.tsx';
import type { ProgressStep } from '../../model/workspace-progress.ts';

const words = { done: 'done', current: 'under way', waiting: 'not yet', failed: 'failed' } as const;

/** How far a workspace is that is being created or deleted. */
export function ProgressCard({
  title,
  steps,
}: {
  readonly title: string;
  readonly steps: readonly ProgressStep[];
}): ReactElement {
  return (
    <Card title={title}>
      <ol className="steps">
        {steps.map((step) => (
          <li key={step.title} className={`step step-${step.state}`}>
            <span className="step-mark" aria-hidden="true">
              {step.state === 'done' && <Icon name="check" size={12} />}
              {step.state === 'failed' && <Icon name="close" size={12} />}
              {step.state === 'current' && <span className="spinner" />}
            </span>
            <div>
              <strong>{step.title}</strong> <span className="visually-hidden">({words[step.state]})</span>
              {step.details.map((detail) => (
                <p key={detail}>{detail}</p>
              ))}
            </div>
          </li>
        ))}
      </ol>
    </Card>
  );
}
