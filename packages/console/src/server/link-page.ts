const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? '');

const style = `body{font:16px/1.5 system-ui,sans-serif;margin:0;min-height:100vh;display:grid;place-items:center;background:#f5f7fa;color:#18212f}
main{max-width:26rem;padding:2rem;margin:1rem;background:#fff;border:1px solid #d5dbe3;border-radius:12px}
h1{font-size:1.25rem;margin:0 0 .75rem}p{margin:0 0 1.25rem}code{overflow-wrap:anywhere}
button{font:inherit;font-weight:600;padding:.6rem 1.2rem;border:0;border-radius:8px;background:#2456c8;color:#fff;cursor:pointer}
button:focus-visible{outline:3px solid #7ba4ff;outline-offset:2px}
@media (prefers-color-scheme:dark){body{background:#11161d;color:#e6ebf2}main{background:#19212b;border-color:#324052}}`;

const page = (nonce: string, content: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Log in – Multiplane</title><style nonce="${nonce}">${style}</style></head>
<body><main>${content}</main></body></html>
`;

/** The page of a link. The link is used up by the button, not by the page: previews of chat programs open pages. */
export const linkPage = (options: { readonly nonce: string; readonly user: string; readonly code: string }): string =>
  page(
    options.nonce,
    `<h1>Log in to Multiplane</h1>
<p>This link logs you in as <code>${escaped(options.user)}</code>. It works once.</p>
<form method="post" action="link"><input type="hidden" name="code" value="${escaped(options.code)}">
<button type="submit" autofocus>Log in</button></form>`,
  );

/** The page of a link that does not work. */
export const invalidLinkPage = (nonce: string): string =>
  page(
    nonce,
    `<h1>This link does not work</h1>
<p>It was used already, or it has expired. <code>multiplane console-link</code> makes a new one.</p>
<p><a href="../">Log in another way</a></p>`,
  );
