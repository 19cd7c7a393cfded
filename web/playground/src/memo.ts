import { Component, h, type ComponentType, type FunctionComponent } from "preact";

/** A component that is drawn again only where its properties aren't the same; its signals and its state draw it all the same. */
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
