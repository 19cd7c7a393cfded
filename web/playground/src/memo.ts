import { Component, h, type ComponentType, type FunctionComponent } from "preact";

/** Returns a component that is rendered again only if its properties, its signals or its state change. */
export function memo<P extends object>(view: FunctionComponent<P>, same: (before: P, after: P) => boolean): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P) {
      return !same(this.props as P, next);
    }

    render() {
      return h(view, this.props as P);
    }
  };
}
