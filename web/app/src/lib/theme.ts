import {useEffect, useState} from 'preact/hooks';

export const themes = ['auto', 'light', 'dark'] as const;

/** useTheme returns the chosen colours, which the browser remembers; auto follows the system. */
export function useTheme(): [string, (theme: string) => void] {
  const [theme, set] = useState(remembered);
  useEffect(() => {
    try {
      localStorage.setItem('tsdbridge.theme', theme);
    } catch {
      // the browser keeps nothing: the choice holds for this page
    }
    document.documentElement.dataset['theme'] = theme;
    dispatchEvent(new Event('themechange'));
  }, [theme]);
  return [theme, set];
}

function remembered(): string {
  try {
    return localStorage.getItem('tsdbridge.theme') ?? 'auto';
  } catch {
    return 'auto';
  }
}

/** useDark reports whether the colours are dark: a canvas has to be drawn again when they change. */
export function useDark(): boolean {
  const [dark, set] = useState(isDark);
  useEffect(() => {
    const system = matchMedia('(prefers-color-scheme: dark)');
    const look = () => set(isDark());
    system.addEventListener('change', look);
    addEventListener('themechange', look);
    return () => {
      system.removeEventListener('change', look);
      removeEventListener('themechange', look);
    };
  }, []);
  return dark;
}

function isDark(): boolean {
  const theme = document.documentElement.dataset['theme'] ?? 'auto';
  return theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
}
