import type { ReactElement } from 'react';

export function BrandMark({ size }: { readonly size: number }): ReactElement {
  return (
    <svg className="brand-mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path className="brand-top" d="M16 6 5.5 11.5 16 17l10.5-5.5z" />
      <path className="brand-layers" d="m5.5 16 10.5 5.5L26.5 16M5.5 20.5 16 26l10.5-5.5" />
    </svg>
  );
}
