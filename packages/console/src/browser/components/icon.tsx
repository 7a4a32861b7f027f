import type { ReactElement } from 'react';

/** Outlines on a grid of 16. */
const outlines = {
  workspaces: 'M8 2 2 5l6 3 6-3zM2 8l6 3 6-3M2 11l6 3 6-3',
  catalogue: 'M3 2.5h4v5H3zM9 2.5h4v5H9zM3 9.5h4v4H3zM11 9.5v4M9 11.5h4',
  resources: 'M2.5 3h11v10h-11zM2.5 6.5h11M6 6.5V13',
  provider: 'M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.5 5 8 8.2 13.5 5M8 8.2v6',
  access: 'M8 1.8 13 4v4c0 3-2 5-5 6.2C5 13 3 11 3 8V4zM6 8l1.5 1.5L10.2 6.5',
  operator: 'M2 12.5h12M3.5 12.5V8M6.5 12.5v-7M9.5 12.5V7M12.5 12.5V3.5',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3 14 14',
  chevronRight: 'm6 3.5 4.5 4.5L6 12.5',
  chevronDown: 'm3.5 6 4.5 4.5L12.5 6',
  chevronUp: 'M3.5 10 8 5.5l4.5 4.5',
  plus: 'M8 3v10M3 8h10',
  close: 'm4 4 8 8M12 4l-8 8',
  check: 'm3 8.5 3.2 3.2L13 5',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  download: 'M8 2.5v8M4.5 7.5 8 11l3.5-3.5M2.5 13.5h11',
  external: 'M9 2.5h4.5V7M13.5 2.5 7.5 8.5M11.5 9.5v4h-9v-9h4',
  trash: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.6 9h6.8l.6-9M6.7 7v4M9.3 7v4',
  edit: 'm10.5 3 2.5 2.5L6 12.5l-3 .5.5-3zM9 4.5 11.5 7',
  refresh: 'M13 5.5A5.5 5.5 0 1 0 13.5 9M13.5 2.5v3.2h-3.2',
  filter: 'M2.5 3.5h11L9.5 8.5v4l-3 1v-5z',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9',
  moon: 'M13 9.8A5.6 5.6 0 0 1 6.2 3 5.6 5.6 0 1 0 13 9.8',
  monitor: 'M2.5 3h11v7.5h-11zM6 13.5h4M8 10.5v3',
  user: 'M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4M2.8 13.8c.6-2.6 2.6-4 5.2-4s4.6 1.4 5.2 4',
  logout: 'M6.5 2.5h-4v11h4M10.5 5 13.5 8l-3 3M13.5 8h-7',
  terminal: 'M2.5 3h11v10h-11zM5 6l2 2-2 2M8.5 10.5h2.5',
  warning: 'M8 2.3 14 13H2zM8 6.3v3.2M8 11.3v.2',
  info: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2M8 7.3V11M8 5.1v.2',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  more: 'M3.5 7.9v.2M8 7.9v.2M12.5 7.9v.2',
  plug: 'M5.5 2v3.5M10.5 2v3.5M4 5.5h8V8a4 4 0 0 1-8 0zM8 12v2.2',
  key: 'M5 6.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M7.2 7.4l5.3-5.2M10.5 4.3l2 2',
  file: 'M4 2h5l3.5 3.5V14H4zM9 2v3.5h3.5',
  clock: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2M8 4.8V8l2.3 1.6',
  lock: 'M3.5 7h9v6.5h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
} as const;

export type IconName = keyof typeof outlines;

/** A picture beside a text that says the same; screen readers leave it out. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): ReactElement {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={outlines[name]} />
    </svg>
  );
}
