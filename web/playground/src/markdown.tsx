// Renders the text of models as elements, never as HTML. Unknown markup, including
// HTML, is shown as written; images are not fetched.
import { lexer, type Token, type Tokens } from "marked";
import { Component, type ComponentChildren } from "preact";
import { CodeBlock } from "./code.tsx";

export function Markdown({ text }: { text: string }) {
  return (
    <div class="prose">
      {lexer(text, { gfm: true, breaks: true }).map((token, i) => <Block key={i} token={token} />)}
    </div>
  );
}

/** Block is rendered again only if its source has changed. In a growing response only the last block changes. */
class Block extends Component<{ token: Token }> {
  override shouldComponentUpdate(next: { token: Token }) {
    return next.token.raw !== this.props.token.raw || next.token.type !== this.props.token.type;
  }

  render() {
    return block(this.props.token);
  }
}

function block(token: Token): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "code":
      return <CodeBlock text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang?.split(/\s/, 1)[0] ?? ""} />;
    case "heading":
      return <Heading depth={(token as Tokens.Heading).depth}>{inline(token.tokens)}</Heading>;
    case "blockquote":
      return <blockquote>{(token.tokens ?? []).map(block)}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "text":
      return <>{inline(token.tokens ?? [token])}</>;
    default:
      return <p>{token.raw}</p>;
  }
}

/** Headings of a response are below the page's headings in level. */
function Heading({ depth, children }: { depth: number; children: ComponentChildren }) {
  const Tag = depth < 3 ? "h3" : depth < 5 ? "h4" : "h5";
  return <Tag>{children}</Tag>;
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, i) => (
    <li key={i}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} disabled aria-label={item.checked ? "done" : "to do"} />}
      {item.tokens.map(block)}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table in the response">
      <table>
        <thead><tr>{table.header.map((cell, i) => <th key={i} scope="col">{inline(cell.tokens)}</th>)}</tr></thead>
        <tbody>{table.rows.map((row, i) => <tr key={i}>{row.map((cell, j) => <td key={j}>{inline(cell.tokens)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map((token) => {
    switch (token.type) {
      case "strong":
        return <strong>{inline(token.tokens)}</strong>;
      case "em":
        return <em>{inline(token.tokens)}</em>;
      case "del":
        return <del>{inline(token.tokens)}</del>;
      case "codespan":
        return <code>{(token as Tokens.Codespan).text}</code>;
      case "br":
        return <br />;
      case "link":
        return <Link link={token as Tokens.Link} />;
      case "image":
        return token.raw;
      case "escape":
        return (token as Tokens.Escape).text;
      case "text":
        return token.tokens ? inline(token.tokens) : (token as Tokens.Text).text;
      default:
        return token.raw;
    }
  });
}

function Link({ link }: { link: Tokens.Link }) {
  if (!/^https?:\/\//i.test(link.href)) return <>{link.raw}</>;
  return <a href={link.href} target="_blank" rel="noopener noreferrer nofollow">{inline(link.tokens)}</a>;
}
