import {Component, type ComponentChildren} from 'preact';
import {messageOf} from './http.ts';

/** Guard keeps a part of the page that cannot be shown, because an answer has another form than expected, from taking the others along. */
export class Guard extends Component<{children: ComponentChildren}, {error?: unknown}> {
  static override getDerivedStateFromError(error: unknown) {
    return {error};
  }

  override render() {
    if (this.state.error === undefined) return <>{this.props.children}</>;
    return (
      <p class="error" role="alert">
        This part cannot be shown: the server answered something unexpected ({messageOf(this.state.error)}).{' '}
        <button class="small" onClick={() => this.setState({error: undefined})}>Try again</button>
      </p>
    );
  }
}
