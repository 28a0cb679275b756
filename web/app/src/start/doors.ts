// Where clients send data, and what a person can paste to send a first point.

import {urlOf} from '../lib/http.ts';

export interface Door {
  title: string;
  /** text tells what the command does; command is empty if the door is closed. */
  text: string;
  command: string;
}

/** doorsOf returns the doors by the flags of the server. base is the URL of the page. */
export function doorsOf(flags: Record<string, string>, base: string): Door[] {
  const host = new URL(base).hostname;
  return [
    {title: 'a shell', text: 'Sends a sample of now with a label, in Prometheus\' text format. Nothing but curl is needed.',
      command: `curl ${base}api/v1/import/openmetrics \\\n  --data-binary 'demo_greeting{from="me"} 42'`},
    {title: 'Prometheus', text: 'Add this to prometheus.yml and reload it. New samples are here within seconds.', command: `remote_write:\n  - url: ${base}api/v1/write\n    send_native_histograms: true`},
    door('Graphite', 'carbon.listen-address', ':2003', 'Sends one line as carbon takes them. Bash alone does that.', flags, address => `echo "demo.greeting 42 $(date +%s)" |\n  bash -c 'cat > /dev/tcp/${address.replace(/[[\]]/g, '').replace(/:(\w+)$/, '/$1')}'`, host),
    door('OpenTSDB', 'opentsdb.listen-address', ':4242', 'Sends one point by HTTP. The telnet command put is taken on the same port.', flags,
      address => `curl -H 'Content-Type: application/json' http://${address}/api/put \\\n  -d '{"metric": "demo.greeting", "timestamp": '$(date +%s)', "value": 42, "tags": {"from": "me"}}'`, host),
  ];
}

function door(title: string, flag: string, usual: string, text: string, flags: Record<string, string>, command: (address: string) => string, host: string): Door {
  const listens = flags[flag] ?? '';
  if (listens === '') return {title, text: `This port is closed. Start the adapter with --${flag}=${usual} to open it.`, command: ''};
  if (listens.endsWith(':0')) return {title, text: `${text} The system has chosen the port: the log of the adapter has it ("listening"). Put it for PORT.`, command: command(reachable(`${listens.slice(0, -1)}PORT`, host))};
  return {title, text, command: command(reachable(listens, host))};
}

/** reachable returns host:port for an address that is listened on: ":2003" is reached at the host of the page. */
export function reachable(listens: string, host: string): string {
  const colon = listens.lastIndexOf(':');
  const own = listens.slice(0, colon);
  return `${own === '' || own === '0.0.0.0' || own === '[::]' ? host : own}:${listens.slice(colon + 1)}`;
}

/** baseURL is the URL that paths of the server's API are relative to. */
export function baseURL(): string {
  return urlOf('.').href;
}
