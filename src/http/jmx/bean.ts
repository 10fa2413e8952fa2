import type { Scrape } from './scrape.ts';
import type { Attributes } from './values.ts';

/** One bean of the Java Router, and where its attributes come from here. */
export interface Bean {
  /** ObjectName. */
  readonly name: string;
  readonly modelerType: string;
  /** Written one after the other. From memory alone: no NameNode and no State Store is asked. */
  read(scrape: Scrape): readonly Attributes[];
}

export const ROUTER = 'Hadoop:service=Router,name=';
export const NAMENODE = 'Hadoop:service=NameNode,name=';

/** A metrics source: its model is its own name, its tags are text. */
export function metricsBean(
  source: string,
  tags: Readonly<Record<string, string | null>>,
  read: (scrape: Scrape) => Attributes,
): Bean {
  const own: Record<string, string | null> = {};
  for (const [tag, value] of Object.entries(tags)) own[`tag.${tag}`] = value;
  return {
    name: ROUTER + source,
    modelerType: source,
    read: (scrape) => [{ ...own, 'tag.Hostname': scrape.hostName }, read(scrape)],
  };
}

/** A bean with a Java class behind it. */
export function classBean(name: string, modelerType: string, read: (scrape: Scrape) => Attributes): Bean {
  return { name, modelerType, read: (scrape) => [read(scrape)] };
}
