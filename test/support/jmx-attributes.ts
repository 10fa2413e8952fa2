import { readFileSync } from 'node:fs';

const FILE = new URL('../unit/jmx-samples/router-jmx-attributes.tsv', import.meta.url);

export type Bean = Readonly<Record<string, unknown>>;
/** Attributes of a bean and the JSON type of each. */
export type BeanShape = ReadonlyMap<string, string>;

/** Ports in names of beans. */
export interface JmxPorts {
  readonly rpc: number;
  readonly admin: number;
  readonly http: number;
}

/** Ports of the router whose beans the file has. */
const RECORDED: Readonly<Record<keyof JmxPorts, number>> = { rpc: 8888, admin: 8111, http: 50071 };

/** The beans of a Java Router of Hadoop 3.4.1, by name, as they are named at other ports. */
export function javaBeans(ports: JmxPorts): Map<string, BeanShape> {
  const beans = new Map<string, Map<string, string>>();
  for (const line of readFileSync(FILE, 'utf8').trimEnd().split('\n').slice(1)) {
    const [recorded = '', attribute = '', type = ''] = line.split('\t');
    let name = recorded;
    for (const [kind, port] of Object.entries(RECORDED)) {
      name = name.replaceAll(String(port), String(ports[kind as keyof JmxPorts]));
    }
    let bean = beans.get(name);
    if (bean === undefined) {
      bean = new Map();
      beans.set(name, bean);
    }
    bean.set(attribute, type);
  }
  return beans;
}

/** Names of all attributes of the metrics of methods stand for those of each method. */
export function isOfMethod(attribute: string): boolean {
  return attribute.includes('<Method>');
}

/** The beans in an answer of /jmx, by name. */
export function beansIn(text: string): Map<string, Bean> {
  const { beans } = JSON.parse(text) as { beans: Bean[] };
  return new Map(beans.map((bean) => [String(bean['name']), bean]));
}

/** JSON type of an attribute in the text of an answer, as the file of samples names it; `number` is one with a point. */
export function typeIn(text: string, bean: string, attribute: string): string {
  const from = text.indexOf(`"name" : ${JSON.stringify(bean)},`);
  const at = text.indexOf(`\n    ${JSON.stringify(attribute)} : `, from);
  if (from < 0 || at < 0) return 'absent';
  const value = text.slice(at + attribute.length + 10, text.indexOf('\n', at + 1)).replace(/,$/, '');
  if (value.startsWith('"')) return 'string';
  if (value.startsWith('[')) return 'array';
  if (value.startsWith('{')) return 'object';
  if (value === 'null') return 'null';
  if (value === 'true' || value === 'false') return 'boolean';
  return /^-?\d+$/.test(value) ? 'integer' : 'number';
}
