import java.util.*; import java.time.*; import java.time.zone.*;
public class Record { public static void main(String[] a){
  String[] ids=TimeZone.getAvailableIDs(); Arrays.sort(ids);
  for(String id:ids){ TimeZone z=TimeZone.getTimeZone(id); StringBuilder b=new StringBuilder(id);
    for(int y: new int[]{1985,2013,2024}) for(int m: new int[]{1,7}) { long t=LocalDateTime.of(y,m,1,0,0).toEpochSecond(ZoneOffset.UTC); b.append(' ').append(z.getOffset(t*1000)/1000);} 
    System.out.println(b);} 
  System.err.println(ZoneId.SHORT_IDS);
}}
