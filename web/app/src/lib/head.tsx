/** PageHead is the title of a page, and what the page is for. */
export function PageHead(p: {title: string; text: string}) {
  return <div class="page-head"><h1>{p.title}</h1><p>{p.text}</p></div>;
}
